import { Body, Controller, HttpCode, HttpStatus, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { RateLimit } from 'nestjs-floodgate';
import { travelSeconds } from '../geo/position.js';
import { ClientSignal } from '../http/client-signal.js';
import { GivesWay } from '../limits/gives-way.js';
import { FARES, MATCHING_LIMIT } from '../limits/policies.js';
import { ApiMatchingUnavailable } from '../matching/api-matching-unavailable.js';
import { ZoneTraffic } from '../zones/zone-traffic.js';
import { EstimateResponse } from './estimate.response.js';
import { ItineraryDto } from './itinerary.dto.js';
import { toItinerary } from './itinerary.js';
import { QuotesService } from './quotes.service.js';

@ApiTags('Rides')
@Controller('api/fares')
@GivesWay('normal')
export class FaresController {
  constructor(
    private readonly quotes: QuotesService,
    private readonly traffic: ZoneTraffic,
  ) {}

  @Post('estimate')
  @ApiOperation({ summary: 'The price of a ride now' })
  @ApiOkResponse({ description: 'The fare and the surge factor of the zone', type: EstimateResponse })
  @ApiMatchingUnavailable()
  @HttpCode(HttpStatus.OK)
  @RateLimit(FARES, { policy: MATCHING_LIMIT, priority: 'estimates' })
  async estimate(@Body() body: ItineraryDto, @ClientSignal() gone: AbortSignal): Promise<EstimateResponse> {
    const { zone, metres, surgeFactor, fare } = await this.quotes.quote(toItinerary(body), gone);
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
