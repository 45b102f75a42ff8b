import { Body, Controller, HttpCode, HttpStatus, Post } from '@nestjs/common';
import { RateLimit } from 'nestjs-floodgate';
import { travelSeconds } from '../geo/position.js';
import { FARES, MATCHING_LIMIT } from '../limits/policies.js';
import { ZoneTraffic } from '../zones/zone-traffic.js';
import type { Fare } from './fare.js';
import { ItineraryDto } from './itinerary.dto.js';
import { toItinerary } from './itinerary.js';
import { QuotesService } from './quotes.service.js';

export interface EstimateResponse {
  zone: string;
  distance_m: number;
  duration_seconds: number;
  surge_factor: number;
  fare: Fare;
}

@Controller('api/fares')
export class FaresController {
  constructor(
    private readonly quotes: QuotesService,
    private readonly traffic: ZoneTraffic,
  ) {}

  @Post('estimate')
  @HttpCode(HttpStatus.OK)
  @RateLimit(FARES, MATCHING_LIMIT)
  async estimate(@Body() body: ItineraryDto): Promise<EstimateResponse> {
    const { zone, metres, surgeFactor, fare } = await this.quotes.quote(toItinerary(body));
    this.traffic.count(zone, 'estimates');
    return {
      zone,
      distance_m: metres,
      duration_seconds: travelSeconds(metres),
      surge_factor: surgeFactor,
      fare,
    };
  }
}
