import { FromQuery, IsLatitude, IsLongitude, IsNumberBetween } from '../http/validation.js';

export class NearbyQuery {
  @FromQuery() @IsLatitude() lat: number;
  @FromQuery() @IsLongitude() lng: number;
  @FromQuery() @IsNumberBetween(0.1, 20) radius_km: number = 2;
}
