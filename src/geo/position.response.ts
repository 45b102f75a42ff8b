import { ApiProperty } from '@nestjs/swagger';

export class PositionResponse {
  @ApiProperty({ example: 40.7505 }) readonly lat: number;
  @ApiProperty({ example: -73.9934 }) readonly lng: number;
}
