import { ApiProperty } from '@nestjs/swagger';
import { FareResponse } from '../fares/estimate.response.js';
import { PositionResponse } from '../geo/position.response.js';

export class TripResponse {
  @ApiProperty() readonly trip_id: string;
  @ApiProperty({ example: 'driver-7' }) readonly driver_id: string;
  @ApiProperty() readonly pickup: PositionResponse;
  @ApiProperty() readonly dropoff: PositionResponse;
  @ApiProperty({ type: 'integer' }) readonly distance_m: number;
  @ApiProperty() readonly fare: FareResponse;
  @ApiProperty({ format: 'date-time' }) readonly started_at: string;
  @ApiProperty({ format: 'date-time' }) readonly ended_at: string;
}

export class HistoryResponse {
  @ApiProperty({ example: 'rider-1' }) readonly rider_id: string;
  @ApiProperty({ type: [TripResponse] }) readonly trips: TripResponse[];
}
