import { ApiProperty } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import { type Plan, PLANS } from '../accounts/rider-accounts.js';

export class PlanDto {
  @ApiProperty({ enum: PLANS })
  @IsIn(PLANS, { message: `plan must be one of ${PLANS.join(', ')}` })
  plan: Plan;
}
