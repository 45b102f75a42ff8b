import { ItineraryDto } from '../fares/itinerary.dto.js';
import { IsId } from '../http/validation.js';

export class RideRequestDto extends ItineraryDto {
  @IsId() rider_id: string;
}
