import { Body, Controller, NotFoundException, Param, Put } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { RateLimit } from 'nestjs-floodgate';
import { RIDER_PLAN } from '../limits/policies.js';
import { AccountResponse } from '../accounts/account.response.js';
import { PlanDto } from './plan.dto.js';
import { RiderAccounts } from '../accounts/rider-accounts.js';
import { RiderPipe } from './rider.pipe.js';

@ApiTags('Operation')
@Controller('api/admin/riders')
export class RiderPlansController {
  constructor(private readonly accounts: RiderAccounts) {}

  @Put(':id/plan')
  @ApiOperation({ summary: 'Sets the plan of a rider' })
  @ApiOkResponse({ description: 'The rider', type: AccountResponse })
  @RateLimit(RIDER_PLAN)
  async setPlan(@Param('id', RiderPipe) riderId: string, @Body() { plan }: PlanDto): Promise<AccountResponse> {
    const account = await this.accounts.setPlan(riderId, plan);
    if (account === undefined) throw new NotFoundException(`no rider has the id ${riderId}`);
    return { rider_id: account.id, plan: account.plan };
  }
}
