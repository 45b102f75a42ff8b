import { Body, Controller, HttpCode, HttpStatus, Post } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiOperation, ApiTags, getSchemaPath } from '@nestjs/swagger';
import { RateLimit } from 'nestjs-floodgate';
import { toItinerary } from '../fares/itinerary.js';
import { toMetres, travelSeconds } from '../geo/position.js';
import { ClientSignal } from '../http/client-signal.js';
import { MATCHING_LIMIT, RIDES } from '../limits/policies.js';
import { ApiMatchingUnavailable } from '../matching/api-matching-unavailable.js';
import { MatchedResponse, NoDriverResponse } from './ride.response.js';
import { RideRequestDto } from './ride-request.dto.js';
import { type Ride, RidesService } from './rides.service.js';

@ApiTags('Rides')
@Controller('api/rides')
export class RidesController {
  constructor(private readonly rides: RidesService) {}

  @Post('request')
  @ApiOperation({ summary: 'Finds a driver for a rider' })
  @ApiExtraModels(MatchedResponse, NoDriverResponse)
  @ApiOkResponse({
    description: 'A driver and the trip, or no driver within reach',
    schema: { oneOf: [{ $ref: getSchemaPath(MatchedResponse) }, { $ref: getSchemaPath(NoDriverResponse) }] },
  })
  @ApiMatchingUnavailable()
  @HttpCode(HttpStatus.OK)
  @RateLimit(RIDES, MATCHING_LIMIT)
  async request(
    @Body() body: RideRequestDto,
    @ClientSignal() gone: AbortSignal,
  ): Promise<MatchedResponse | NoDriverResponse> {
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
