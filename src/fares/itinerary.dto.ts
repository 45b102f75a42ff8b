import { ApiProperty } from '@nestjs/swagger';
import { IsLatitude, IsLongitude } from '../http/validation.js';

export class ItineraryDto {
  @ApiProperty({ example: 40.7505 }) @IsLatitude() pickup_lat: number;
  @ApiProperty({ example: -73.9934 }) @IsLongitude() pickup_lng: number;
  @ApiProperty({ example: 40.7484 }) @IsLatitude() dropoff_lat: number;
  @ApiProperty({ example: -73.9857 }) @IsLongitude() dropoff_lng: number;
}
