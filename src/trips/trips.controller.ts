import { BadRequestException, Controller, Get, Headers, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { RateLimit } from 'nestjs-floodgate';
import { isId } from '../http/validation.js';
import { GivesWay } from '../limits/gives-way.js';
import { HISTORY } from '../limits/policies.js';
import { HistoryQuery } from './history.query.js';
import { TripLog } from './trip-log.js';
import type { Trip } from './trip.js';
import { HistoryResponse, type TripResponse } from './trips.response.js';

@ApiTags('Trips')
@Controller('api/trips')
@GivesWay('background')
export class TripsController {
  constructor(private readonly trips: TripLog) {}

  @Get('history')
  @ApiOperation({ summary: 'Finished trips of a rider, the latest first' })
  @ApiOkResponse({ description: 'The trips', type: HistoryResponse })
  @RateLimit(HISTORY)
  async history(@Query() query: HistoryQuery, @Headers('x-user-id') userId?: string): Promise<HistoryResponse> {
    const riderId = query.rider_id ?? userId;
    if (!isId(riderId)) throw new BadRequestException(['rider_id or the header X-User-Id must name the rider']);
    const trips = await this.trips.ridden(riderId, query.limit);
    return { rider_id: riderId, trips: trips.map(toResponse) };
  }
}

function toResponse({ id, driverId, pickup, dropoff, metres, fare, startsAt, endsAt }: Trip): TripResponse {
  return {
    trip_id: id,
    driver_id: driverId,
    pickup,
    dropoff,
    distance_m: metres,
    fare,
    started_at: new Date(startsAt).toISOString(),
    ended_at: new Date(endsAt).toISOString(),
  };
}
