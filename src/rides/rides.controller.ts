import { Body, Controller, HttpCode, HttpStatus, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { RateLimit } from 'nestjs-floodgate';
import type { Fare } from '../fares/fare.js';
import { toItinerary } from '../fares/itinerary.js';
import { toMetres, travelSeconds } from '../geo/position.js';
import { ClientSignal } from '../http/client-signal.js';
import { MATCHING_LIMIT, RIDES } from '../limits/policies.js';
import { ApiMatchingUnavailable } from '../matching/api-matching-unavailable.js';
import { RideRequestDto } from './ride-request.dto.js';
import { type Ride, RidesService } from './rides.service.js';

export type RideResponse = MatchedResponse | { status: 'no_driver' };

export interface MatchedResponse {
  status: 'matched';
  trip_id: string;
  driver: { driver_id: string; lat: number; lng: number };
  /** The time that the driver takes to the pickup. */
  eta_seconds: number;
  distance_m: number;
  fare: Fare;
}

@ApiTags('Rides')
@Controller('api/rides')
export class RidesController {
  constructor(private readonly rides: RidesService) {}

  @Post('request')
  @ApiOperation({ summary: 'Finds a driver for a rider' })
  @ApiOkResponse({ description: 'A driver and the trip, or no driver within reach' })
  @ApiMatchingUnavailable()
  @HttpCode(HttpStatus.OK)
  @RateLimit(RIDES, MATCHING_LIMIT)
  async request(@Body() body: RideRequestDto, @ClientSignal() gone: AbortSignal): Promise<RideResponse> {
    const ride = await this.rides.request(body.rider_id, toItinerary(body), gone);
    return ride ? toResponse(ride) : { status: 'no_driver' };
  }
}

function toResponse({ trip, driver }: Ride): MatchedResponse {
  return {
    status: 'matched',
    trip_id: trip.id,
    driver: { driver_id: driver.driverId, lat: driver.lat, lng: driver.lng },
    eta_seconds: travelSeconds(toMetres(driver.distanceKm)),
    distance_m: trip.metres,
    fare: trip.fare,
  };
}
