import { Body, Controller, HttpCode, HttpStatus, Post, UnauthorizedException, UseFilters } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags, ApiUnauthorizedResponse } from '@nestjs/swagger';
import { RateLimit } from 'nestjs-floodgate';
import { AccountResponse } from '../accounts/account.response.js';
import { RiderAccounts } from '../accounts/rider-accounts.js';
import { BusyFilter } from '../http/busy.js';
import { LOGIN_ACCOUNT, LOGIN_ADDRESS } from '../limits/policies.js';
import { LoginDto } from './login.dto.js';
import { PasswordCheck } from './password-check.js';

@ApiTags('Login')
@Controller('api')
@UseFilters(BusyFilter)
export class LoginController {
  constructor(
    private readonly accounts: RiderAccounts,
    private readonly passwords: PasswordCheck,
  ) {}

  /** The gateway makes a session of the answer, and sets `X-User-Id` in the requests of that session. */
  @Post('login')
  @ApiOperation({ summary: 'Checks a password' })
  @ApiOkResponse({ description: 'The rider of the account', type: AccountResponse })
  @ApiUnauthorizedResponse({ description: 'The email or the password is wrong' })
  @HttpCode(HttpStatus.OK)
  @RateLimit(LOGIN_ADDRESS, LOGIN_ACCOUNT)
  async login(@Body() { email, password }: LoginDto): Promise<AccountResponse> {
    const account = await this.accounts.findByEmail(email);
    const matches = await this.passwords.matches(password, account?.passwordHash);
    // One answer for a wrong password and for an account that does not exist.
    if (account === undefined || !matches) throw new UnauthorizedException('email or password is wrong');
    return { rider_id: account.id, plan: account.plan };
  }
}
