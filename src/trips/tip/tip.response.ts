import { ApiProperty } from '@nestjs/swagger';

export class TipResponse {
  @ApiProperty() readonly trip_id: string;
  @ApiProperty() readonly payment_id: string;
  @ApiProperty({ type: 'integer' }) readonly amount_cents: number;
}
