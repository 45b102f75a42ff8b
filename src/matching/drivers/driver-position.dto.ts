import { ApiProperty } from '@nestjs/swagger';
import { IsId, IsLatitude, IsLongitude } from '../../http/validation.js';

export class DriverPositionDto {
  @ApiProperty({ example: 'driver-7' }) @IsId() driver_id: string;
  @ApiProperty({ example: 40.7505 }) @IsLatitude() lat: number;
  @ApiProperty({ example: -73.9934 }) @IsLongitude() lng: number;
}
