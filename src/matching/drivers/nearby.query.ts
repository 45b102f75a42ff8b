import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { FromQuery, IsLatitude, IsLongitude, IsNumberBetween } from '../../http/validation.js';

export class NearbyQuery {
  @FromQuery() @ApiProperty({ example: 40.7505 }) @IsLatitude() lat: number;
  @FromQuery() @ApiProperty({ example: -73.9934 }) @IsLongitude() lng: number;
  @FromQuery() @ApiPropertyOptional({ default: 2 }) @IsNumberBetween(0.1, 20) radius_km: number = 2;
}
