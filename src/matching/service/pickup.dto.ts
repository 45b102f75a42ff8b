import { IsLatitude, IsLongitude } from '../../http/validation.js';

export class PickupDto {
  @IsLatitude() lat: number;
  @IsLongitude() lng: number;
}
