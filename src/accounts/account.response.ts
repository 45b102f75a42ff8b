import { ApiProperty } from '@nestjs/swagger';
import { type Plan, PLANS } from './rider-accounts.js';

export class AccountResponse {
  @ApiProperty({ example: 'rider-1' }) readonly rider_id: string;
  @ApiProperty({ enum: PLANS }) readonly plan: Plan;
}
