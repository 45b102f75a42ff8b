import { Body, Controller, Get, HttpCode, HttpStatus, Param, Post, Put, Query } from '@nestjs/common';
import type { DriverPosition, NearbyDriver } from '../drivers/driver-index.js';
import { ClientSignal } from '../../http/client-signal.js';
import { PositionBatchPipe } from '../drivers/position-batch.pipe.js';
import { SurgeDto } from '../surge.dto.js';
import { ZonePipe } from '../../geo/zone.pipe.js';
import type { MatchingStatistics } from '../matching-statistics.js';
import { type Match, Matching, type ZoneSupply } from '../matching.js';
import { NearestQuery } from './nearest.query.js';
import { PickupDto } from './pickup.dto.js';

/** The API for `RemoteMatching`. It is not limited: its only client is the application, which limits its riders. */
@Controller()
export class MatchingController {
  constructor(private readonly matching: Matching) {}

  @Post('matches')
  @HttpCode(HttpStatus.OK)
  async match(@Body() pickup: PickupDto, @ClientSignal() gone: AbortSignal): Promise<{ match: Match | null }> {
    return { match: (await this.matching.match(pickup, gone)) ?? null };
  }

  @Get('drivers/nearby')
  nearby(
    @Query() { lat, lng, radius_km, limit }: NearestQuery,
    @ClientSignal() gone: AbortSignal,
  ): Promise<NearbyDriver[]> {
    return this.matching.nearby({ lat, lng }, radius_km, limit, gone);
  }

  @Post('drivers/positions')
  @HttpCode(HttpStatus.OK)
  async report(@Body(PositionBatchPipe) positions: DriverPosition[]): Promise<{ accepted: number }> {
    await this.matching.report(positions);
    return { accepted: positions.length };
  }

  @Get('zones')
  zones(): Promise<ZoneSupply[]> {
    return this.matching.zones();
  }

  @Get('zones/:zone/surge')
  async surgeFactor(
    @Param('zone', ZonePipe) zone: string,
    @ClientSignal() gone: AbortSignal,
  ): Promise<{ factor: number }> {
    return { factor: await this.matching.surgeFactor(zone, gone) };
  }

  @Put('zones/:zone/surge')
  async setSurgeFactor(
    @Param('zone', ZonePipe) zone: string,
    @Body() { factor }: SurgeDto,
  ): Promise<{ factor: number }> {
    await this.matching.setSurgeFactor(zone, factor);
    return { factor };
  }

  @Get('statistics')
  statistics(): Promise<MatchingStatistics> {
    return this.matching.statistics();
  }

  @Get('healthz')
  check(): { status: 'ok' } {
    return { status: 'ok' };
  }
}
