import { IsId, IsLatitude, IsLongitude } from '../http/validation.js';

export class DriverPositionDto {
  @IsId() driver_id: string;
  @IsLatitude() lat: number;
  @IsLongitude() lng: number;
}
