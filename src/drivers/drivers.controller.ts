import { Body, Controller, Get, HttpCode, HttpStatus, Post, Query } from '@nestjs/common';
import { ApiBody, ApiExtraModels, ApiOkResponse, ApiOperation, ApiTags, getSchemaPath } from '@nestjs/swagger';
import { RateLimit } from 'nestjs-floodgate';
import { toMetres, travelSeconds } from '../geo/position.js';
import { ClientSignal } from '../http/client-signal.js';
import { GivesWay } from '../limits/gives-way.js';
import { LOCATION_INDEX, MATCHING_LIMIT, NEARBY, REPORTER } from '../limits/policies.js';
import { ApiMatchingUnavailable } from '../matching/api-matching-unavailable.js';
import { Matching } from '../matching/matching.js';
import type { DriverPosition } from '../matching/drivers/driver-index.js';
import { DriverPositionDto } from '../matching/drivers/driver-position.dto.js';
import { LocationResponse, NearbyResponse } from './drivers.response.js';
import { NearbyQuery } from '../matching/drivers/nearby.query.js';
import { MAX_POSITIONS } from '../limits/position-batch.js';
import { PositionBatchPipe } from '../matching/drivers/position-batch.pipe.js';

/** The most drivers that a map can show clearly. */
const MAX_SHOWN = 50;

const POSITION = { $ref: getSchemaPath(DriverPositionDto) };
const POSITIONS = { oneOf: [POSITION, { type: 'array', items: POSITION, minItems: 1, maxItems: MAX_POSITIONS }] };

@ApiTags('Rides')
@Controller('api/drivers')
export class DriversController {
  constructor(private readonly matching: Matching) {}

  @Get('nearby')
  @ApiOperation({ summary: 'Free drivers, the nearest first' })
  @ApiOkResponse({ description: 'At most 50 drivers', type: NearbyResponse })
  @ApiMatchingUnavailable()
  @GivesWay('normal')
  @RateLimit(NEARBY, MATCHING_LIMIT)
  async nearby(
    @Query() { lat, lng, radius_km }: NearbyQuery,
    @ClientSignal() gone: AbortSignal,
  ): Promise<NearbyResponse> {
    const drivers = await this.matching.nearby({ lat, lng }, radius_km, MAX_SHOWN, gone);
    return {
      drivers: drivers.map(({ driverId, distanceKm, ...position }) => {
        const distance_m = toMetres(distanceKm);
        return { driver_id: driverId, ...position, distance_m, eta_seconds: travelSeconds(distance_m) };
      }),
    };
  }

  @Post('location')
  @ApiOperation({ summary: 'Takes positions of drivers: one, or up to 500 in order' })
  @ApiOkResponse({ description: 'How many positions were taken', type: LocationResponse })
  @ApiBody({ schema: POSITIONS })
  @ApiExtraModels(DriverPositionDto)
  @HttpCode(HttpStatus.OK)
  @RateLimit(REPORTER, LOCATION_INDEX)
  async report(@Body(PositionBatchPipe) positions: DriverPosition[]): Promise<LocationResponse> {
    await this.matching.report(positions);
    return { accepted: positions.length };
  }
}
