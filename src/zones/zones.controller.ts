import { Body, Controller, Get, Param, Put, Query } from '@nestjs/common';
import { RateLimit } from 'nestjs-floodgate';
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

@Controller('api/admin/zones')
export class ZonesController {
  constructor(
    private readonly zones: ZoneStatsService,
    private readonly matching: Matching,
  ) {}

  @Get('stats')
  @RateLimit({ algorithm: 'fixed-window', limit: 60, window: '1m' })
  async stats(@Query() { limit }: StatsQuery): Promise<StatsResponse> {
    return { zones: await this.zones.stats(limit) };
  }

  /** Few, critical, and worth an exact log: a surge changes what everybody in a zone pays. */
  @Put(':zone/surge')
  @RateLimit({ algorithm: 'sliding-window-log', limit: 5, window: '1m' })
  async setSurge(@Param('zone', ZonePipe) zone: string, @Body() { factor }: SurgeDto): Promise<SurgeResponse> {
    await this.matching.setSurgeFactor(zone, factor);
    return { zone, surge_factor: factor };
  }
}
