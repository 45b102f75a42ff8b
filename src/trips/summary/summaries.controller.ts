import { Body, Controller, Get, Headers, HttpCode, HttpStatus, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiSecurity, ApiTags } from '@nestjs/swagger';
import { RateLimit } from 'nestjs-floodgate';
import { riderIdOf } from '../../http/rider-id.js';
import { GivesWay } from '../../limits/gives-way.js';
import { DAILY_SUMMARIES, ONE_SUMMARY } from '../../limits/policies.js';
import { SummariesDto } from './summaries.dto.js';
import { SummariesResponse, SummaryResponse } from './summaries.response.js';
import { SummariesService, type Summary } from './summaries.service.js';

@ApiTags('Trips')
@ApiSecurity('rider')
@Controller('api/trips')
@GivesWay('background')
export class SummariesController {
  constructor(private readonly summaries: SummariesService) {}

  @Get(':id/summary')
  @ApiOperation({ summary: 'A pretend language model writes about a trip' })
  @ApiOkResponse({ description: 'The summary, and what it used', type: SummaryResponse })
  @RateLimit(DAILY_SUMMARIES, ONE_SUMMARY)
  async one(@Param('id') tripId: string, @Headers('x-user-id') userId?: string): Promise<SummaryResponse> {
    return toResponse(await this.summaries.one(riderIdOf(userId), tripId));
  }

  /** Its tokens are reserved by the service, which knows how many trips there are. */
  @Post('summaries')
  @ApiOperation({ summary: 'The same for several trips' })
  @ApiOkResponse({ description: 'The summaries, in the order of the trips', type: SummariesResponse })
  @HttpCode(HttpStatus.OK)
  @RateLimit(DAILY_SUMMARIES)
  async several(@Body() { trip_ids }: SummariesDto, @Headers('x-user-id') userId?: string): Promise<SummariesResponse> {
    const summaries = await this.summaries.several(riderIdOf(userId), trip_ids);
    return { summaries: summaries.map(toResponse) };
  }
}

function toResponse({ tripId, text, usage }: Summary): SummaryResponse {
  return { trip_id: tripId, text, usage };
}
