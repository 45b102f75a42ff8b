import { IsIn } from 'class-validator';
import { type Plan, PLANS } from './rider-accounts.js';

export class PlanDto {
  @IsIn(PLANS, { message: `plan must be one of ${PLANS.join(', ')}` }) plan: Plan;
}
