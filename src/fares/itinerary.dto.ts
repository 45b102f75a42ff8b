import { IsLatitude, IsLongitude } from '../http/validation.js';

export class ItineraryDto {
  @IsLatitude() pickup_lat: number;
  @IsLongitude() pickup_lng: number;
  @IsLatitude() dropoff_lat: number;
  @IsLongitude() dropoff_lng: number;
}
