import { Body, Controller, Get, Param, Put, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { RateLimit } from 'nestjs-floodgate';
import { ZONE_STATS, ZONE_SURGE } from '../limits/policies.js';
import { Matching } from '../matching/matching.js';
import { StatsQuery } from './stats.query.js';
import { SurgeDto } from './surge.dto.js';
import { type ZoneStats, ZoneStatsService } from './zone-stats.service.js';
import { ZonePipe } from './zone.pipe.js';

export interface StatsResponse {
  zones: ZoneStats[];
}

export interface SurgeResponse {
  zone: string;
  surge_factor: number;
}

@ApiTags('Operation')
@Controller('api/admin/zones')
export class ZonesController {
  constructor(
    private readonly zones: ZoneStatsService,
    private readonly matching: Matching,
  ) {}

  @Get('stats')
  @ApiOperation({ summary: 'Drivers and requests of each zone' })
  @RateLimit(ZONE_STATS)
  async stats(@Query() { limit }: StatsQuery): Promise<StatsResponse> {
    return { zones: await this.zones.stats(limit) };
  }

  @Put(':zone/surge')
  @ApiOperation({ summary: 'Sets the surge factor of a zone' })
  @RateLimit(ZONE_SURGE)
  async setSurge(@Param('zone', ZonePipe) zone: string, @Body() { factor }: SurgeDto): Promise<SurgeResponse> {
    await this.matching.setSurgeFactor(zone, factor);
    return { zone, surge_factor: factor };
  }
}
