import { Body, Controller, Headers, HttpCode, HttpStatus, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiSecurity, ApiTags } from '@nestjs/swagger';
import { RateLimit } from 'nestjs-floodgate';
import { ClientSignal } from '../../http/client-signal.js';
import { riderIdOf } from '../../http/rider-id.js';
import { TIPS } from '../../limits/policies.js';
import { TipDto } from './tip.dto.js';
import { TipResponse } from './tip.response.js';
import { TipsService } from './tips.service.js';

@ApiTags('Trips')
@ApiSecurity('rider')
@Controller('api/trips')
export class TipsController {
  constructor(private readonly tips: TipsService) {}

  @Post(':id/tip')
  @ApiOperation({ summary: 'A pretend payment provider takes a tip for a trip' })
  @ApiOkResponse({ description: 'The payment', type: TipResponse })
  @HttpCode(HttpStatus.OK)
  @RateLimit(TIPS)
  async tip(
    @Param('id') tripId: string,
    @Body() { amount_cents }: TipDto,
    @ClientSignal() gone: AbortSignal,
    @Headers('x-user-id') userId?: string,
  ): Promise<TipResponse> {
    const { id, amountCents } = await this.tips.tip(riderIdOf(userId), tripId, amount_cents, gone);
    return { trip_id: tripId, payment_id: id, amount_cents: amountCents };
  }
}
