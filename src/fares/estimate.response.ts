import { ApiProperty } from '@nestjs/swagger';

export class FareResponse {
  @ApiProperty({ type: 'integer', minimum: 0, example: 800 }) readonly amount_cents: number;
  @ApiProperty({ enum: ['USD'] }) readonly currency: 'USD';
}

export class EstimateResponse {
  @ApiProperty({ description: 'A cell of H3', example: '872a100d2ffffff' }) readonly zone: string;
  @ApiProperty({ type: 'integer', example: 689 }) readonly distance_m: number;
  @ApiProperty({ type: 'integer', example: 104 }) readonly duration_seconds: number;
  @ApiProperty({ minimum: 1, example: 1.5 }) readonly surge_factor: number;
  @ApiProperty() readonly fare: FareResponse;
}
