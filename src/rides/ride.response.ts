import { ApiProperty } from '@nestjs/swagger';
import { FareResponse } from '../fares/estimate.response.js';
import { PositionResponse } from '../geo/position.response.js';

export class RideDriverResponse extends PositionResponse {
  @ApiProperty({ example: 'driver-7' }) readonly driver_id: string;
}

export class MatchedResponse {
  @ApiProperty({ enum: ['matched'] }) readonly status: 'matched';
  @ApiProperty() readonly trip_id: string;
  @ApiProperty() readonly driver: RideDriverResponse;
  @ApiProperty({ type: 'integer', description: 'The time that the driver takes to the pickup' })
  readonly eta_seconds: number;
  @ApiProperty({ type: 'integer', description: 'From the pickup to the drop-off' }) readonly distance_m: number;
  @ApiProperty() readonly fare: FareResponse;
}

export class NoDriverResponse {
  @ApiProperty({ enum: ['no_driver'], description: 'No driver is free within reach' }) readonly status: 'no_driver';
}
