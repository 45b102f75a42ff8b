import { Body, Controller, Get, HttpCode, HttpStatus, Post, Query } from '@nestjs/common';
import { RateLimit } from 'nestjs-floodgate';
import { toMetres, travelSeconds } from '../geo/position.js';
import { MATCHING_LIMIT } from '../limits/matching-limit.js';
import { Matching } from '../matching/matching.js';
import type { DriverPosition } from './driver-index.js';
import { NearbyQuery } from './nearby.query.js';
import { batchCost } from './position-batch.js';
import { PositionBatchPipe } from './position-batch.pipe.js';

/** What a map can show without becoming a swarm. */
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
  @RateLimit({ name: 'rider', algorithm: 'token-bucket', capacity: 30, refill: 15 }, MATCHING_LIMIT)
  async nearby(@Query() { lat, lng, radius_km }: NearbyQuery): Promise<NearbyResponse> {
    const drivers = await this.matching.nearby({ lat, lng }, radius_km, MAX_SHOWN);
    return {
      drivers: drivers.map(({ driverId, distanceKm, ...position }) => {
        const distance_m = toMetres(distanceKm);
        return { driver_id: driverId, ...position, distance_m, eta_seconds: travelSeconds(distance_m) };
      }),
    };
  }

  /**
   * Everybody's reports go through one leaky bucket: what has to be protected is the index behind it. A bucket for each client
   * leaves half of it to the others; who says nothing about himself is the client of his address.
   */
  @Post('location')
  @HttpCode(HttpStatus.OK)
  @RateLimit(
    { name: 'reporter', algorithm: 'token-bucket', capacity: 2500, refill: 1500, cost: batchCost },
    { name: 'location-index', algorithm: 'leaky-bucket', capacity: 5000, drain: 3000, by: 'global', cost: batchCost },
  )
  async report(@Body(PositionBatchPipe) positions: DriverPosition[]): Promise<LocationResponse> {
    await this.matching.report(positions);
    return { accepted: positions.length };
  }
}
