import { Body, Controller, Get, HttpCode, HttpStatus, Post, Query } from '@nestjs/common';
import { RateLimit } from 'nestjs-floodgate';
import { toMetres, travelSeconds } from '../geo/position.js';
import { LOCATION_INDEX, MATCHING_LIMIT, NEARBY, REPORTER } from '../limits/policies.js';
import { Matching } from '../matching/matching.js';
import type { DriverPosition } from './driver-index.js';
import { NearbyQuery } from './nearby.query.js';
import { PositionBatchPipe } from './position-batch.pipe.js';

/** The most drivers that a map can show clearly. */
const MAX_SHOWN = 50;

export interface NearbyResponse {
  drivers: { driver_id: string; lat: number; lng: number; distance_m: number; eta_seconds: number }[];
}

export interface LocationResponse {
  accepted: number;
}

@Controller('api/drivers')
export class DriversController {
  constructor(private readonly matching: Matching) {}

  @Get('nearby')
  @RateLimit(NEARBY, MATCHING_LIMIT)
  async nearby(@Query() { lat, lng, radius_km }: NearbyQuery): Promise<NearbyResponse> {
    const drivers = await this.matching.nearby({ lat, lng }, radius_km, MAX_SHOWN);
    return {
      drivers: drivers.map(({ driverId, distanceKm, ...position }) => {
        const distance_m = toMetres(distanceKm);
        return { driver_id: driverId, ...position, distance_m, eta_seconds: travelSeconds(distance_m) };
      }),
    };
  }

  @Post('location')
  @HttpCode(HttpStatus.OK)
  @RateLimit(REPORTER, LOCATION_INDEX)
  async report(@Body(PositionBatchPipe) positions: DriverPosition[]): Promise<LocationResponse> {
    await this.matching.report(positions);
    return { accepted: positions.length };
  }
}
