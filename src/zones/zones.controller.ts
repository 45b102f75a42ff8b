import { Body, Controller, Get, Param, Put, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { RateLimit } from 'nestjs-floodgate';
import { ZONE_STATS, ZONE_SURGE } from '../limits/policies.js';
import { Matching } from '../matching/matching.js';
import { StatsQuery } from './stats.query.js';
import { SurgeDto } from '../matching/surge.dto.js';
import { ZoneStatsService } from './zone-stats.service.js';
import { ZonePipe } from '../geo/zone.pipe.js';
import { StatsResponse, SurgeResponse } from './zones.response.js';

@ApiTags('Operation')
@Controller('api/admin/zones')
export class ZonesController {
  constructor(
    private readonly zones: ZoneStatsService,
    private readonly matching: Matching,
  ) {}

  @Get('stats')
  @ApiOperation({ summary: 'Drivers and requests of each zone' })
  @ApiOkResponse({ description: 'The zones, the most requested first', type: StatsResponse })
  @RateLimit(ZONE_STATS)
  async stats(@Query() { limit }: StatsQuery): Promise<StatsResponse> {
    return { zones: await this.zones.stats(limit) };
  }

  @Put(':zone/surge')
  @ApiOperation({ summary: 'Sets the surge factor of a zone' })
  @ApiOkResponse({ description: 'The zone', type: SurgeResponse })
  @RateLimit(ZONE_SURGE)
  async setSurge(@Param('zone', ZonePipe) zone: string, @Body() { factor }: SurgeDto): Promise<SurgeResponse> {
    await this.matching.setSurgeFactor(zone, factor);
    return { zone, surge_factor: factor };
  }
}
