import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import {
  applyDecorators,
  Body,
  Controller,
  Get,
  Headers,
  HttpCode,
  HttpStatus,
  Param,
  Post,
  Res,
  StreamableFile,
} from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiSecurity, ApiTags } from '@nestjs/swagger';
import { RateLimit, RateLimiter } from 'nestjs-floodgate';
import { ClientSignal } from '../../http/client-signal.js';
import { riderIdOf } from '../../http/rider-id.js';
import { GivesWay } from '../../limits/gives-way.js';
import { DAILY_SUMMARIES } from '../../limits/policies.js';
import { SummariesDto } from './summaries.dto.js';
import { SummariesService, type Summary } from './summaries.service.js';

/** The route passes on what the model writes, as it comes. */
const ApiStream = (summary: string): MethodDecorator =>
  applyDecorators(
    ApiOperation({ summary }),
    ApiOkResponse({
      description: 'Events of a chat in the shape of OpenAI; the last ones say `usage`',
      schema: { type: 'string' },
    }),
    ApiProduces('text/event-stream'),
  );

@ApiTags('Trips')
@ApiSecurity('rider')
@Controller('api/trips')
@GivesWay('background')
export class SummariesController {
  constructor(
    private readonly summaries: SummariesService,
    private readonly limiter: RateLimiter,
  ) {}

  @Get(':id/summary')
  @ApiStream('A pretend language model writes about a trip')
  @RateLimit(DAILY_SUMMARIES)
  async one(
    @Param('id') tripId: string,
    @ClientSignal() gone: AbortSignal,
    @Res({ passthrough: true }) response: object,
    @Headers('x-user-id') userId?: string,
  ): Promise<StreamableFile> {
    return this.stream(await this.summaries.write(riderIdOf(userId), [tripId], gone), response);
  }

  @Post('summaries')
  @ApiStream('A larger one writes about several trips')
  @HttpCode(HttpStatus.OK)
  @RateLimit(DAILY_SUMMARIES)
  async several(
    @Body() { trip_ids }: SummariesDto,
    @ClientSignal() gone: AbortSignal,
    @Res({ passthrough: true }) response: object,
    @Headers('x-user-id') userId?: string,
  ): Promise<StreamableFile> {
    return this.stream(await this.summaries.write(riderIdOf(userId), trip_ids, gone), response);
  }

  /** A rider who leaves ends the model's stream. */
  private stream({ events, decision }: Summary, response: object): StreamableFile {
    if (decision !== undefined) this.limiter.setHeaders(response, decision);
    return new StreamableFile(Readable.fromWeb(events as ReadableStream), { type: 'text/event-stream' });
  }
}
