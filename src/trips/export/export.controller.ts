import { Controller, Get, Headers, StreamableFile } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiSecurity, ApiTags } from '@nestjs/swagger';
import { RateLimit } from 'nestjs-floodgate';
import { riderIdOf } from '../../http/rider-id.js';
import { GivesWay } from '../../limits/gives-way.js';
import { EXPORTS } from '../../limits/policies.js';
import { TripLog } from '../trip-log.js';
import { toCsv } from './trip-rows.js';

/** The log keeps a bounded number of a rider's trips. */
const EVERY = Number.MAX_SAFE_INTEGER;

@ApiTags('Trips')
@ApiSecurity('rider')
@Controller('api/trips')
@GivesWay('background')
export class ExportController {
  constructor(private readonly trips: TripLog) {}

  /** All finished trips of the rider that the application has kept, the latest first. */
  @Get('export')
  @ApiOperation({ summary: 'All finished trips of the rider, as CSV' })
  @ApiOkResponse({ description: 'A row for each trip, after a row of names', schema: { type: 'string' } })
  @ApiProduces('text/csv')
  @RateLimit(EXPORTS)
  async all(@Headers('x-user-id') userId?: string): Promise<StreamableFile> {
    const trips = await this.trips.ridden(riderIdOf(userId), EVERY);
    return new StreamableFile(toCsv(trips), {
      type: 'text/csv; charset=utf-8; header=present',
      disposition: 'attachment; filename="trips.csv"',
    });
  }
}
