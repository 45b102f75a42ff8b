import { ApiProperty } from '@nestjs/swagger';
import { PositionResponse } from '../geo/position.response.js';

export class NearbyDriverResponse extends PositionResponse {
  @ApiProperty({ example: 'driver-7' }) readonly driver_id: string;
  @ApiProperty({ type: 'integer' }) readonly distance_m: number;
  @ApiProperty({ type: 'integer' }) readonly eta_seconds: number;
}

export class NearbyResponse {
  @ApiProperty({ type: [NearbyDriverResponse] }) readonly drivers: NearbyDriverResponse[];
}

export class LocationResponse {
  @ApiProperty({ type: 'integer', description: 'Positions' }) readonly accepted: number;
}
