import { Body, Controller, NotFoundException, Param, Put } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { RateLimit } from 'nestjs-floodgate';
import { RIDER_PLAN } from '../limits/policies.js';
import { PlanDto } from './plan.dto.js';
import { type Plan, RiderAccounts } from './rider-accounts.js';
import { RiderPipe } from './rider.pipe.js';

export interface PlanResponse {
  rider_id: string;
  plan: Plan;
}

@ApiTags('Operation')
@Controller('api/admin/riders')
export class AccountsController {
  constructor(private readonly accounts: RiderAccounts) {}

  @Put(':id/plan')
  @ApiOperation({ summary: 'Sets the plan of a rider' })
  @RateLimit(RIDER_PLAN)
  async setPlan(@Param('id', RiderPipe) riderId: string, @Body() { plan }: PlanDto): Promise<PlanResponse> {
    const account = await this.accounts.setPlan(riderId, plan);
    if (account === undefined) throw new NotFoundException(`no rider has the id ${riderId}`);
    return { rider_id: account.id, plan: account.plan };
  }
}
