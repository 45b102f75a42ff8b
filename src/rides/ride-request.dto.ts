import { ApiProperty } from '@nestjs/swagger';
import { ItineraryDto } from '../fares/itinerary.dto.js';
import { IsId } from '../http/validation.js';

export class RideRequestDto extends ItineraryDto {
  @ApiProperty({ example: 'rider-1' }) @IsId() rider_id: string;
}
