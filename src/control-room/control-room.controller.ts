import type { Socket } from 'node:net';
import {
  Body,
  Controller,
  Get,
  Header,
  HttpCode,
  HttpStatus,
  type MessageEvent,
  NotFoundException,
  type OnModuleDestroy,
  Param,
  Post,
  Put,
  Req,
  Res,
  Sse,
  UseGuards,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { IsBoolean, IsIn } from 'class-validator';
import { SkipRateLimit } from 'nestjs-floodgate';
import { finalize, type Observable } from 'rxjs';
import { Enforcement } from '../limits/enforcement.js';
import { Broadcast } from './broadcast.js';
import { Concert } from './concert.js';
import { ControlGuard } from './control.guard.js';
import { Observer } from './observer.js';
import type { TrialResult } from './live.js';
import { readPageFiles } from './page-files.js';
import { type LaneId, SAMPLES, Trial } from './trial.js';

class SwitchDto {
  @IsBoolean() on: boolean;
}

class TrialDto {
  @IsIn(Object.keys(SAMPLES)) lane: LaneId;
  @IsBoolean() many: boolean;
}

/** At most four a second, with what a timer may be early. */
const PERIOD_MS = 260;
const HEARTBEAT_MS = 1000;
export const MAX_VIEWERS = 50;
/** Of one who does not read: some ticks. */
const MAX_PENDING = 100_000;

/** Nothing but what this process serves, and no script or style in the page's own text. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** A live page at `/`. Never limited: on the day that it shows something, it must not be refused. */
@Controller()
@SkipRateLimit()
export class ControlRoomController implements OnModuleDestroy {
  private readonly files = readPageFiles();
  private readonly broadcast: Broadcast;
  /** Of those who watch. */
  private readonly sockets = new Set<Socket>();

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly observer: Observer,
    private readonly concert: Concert,
    private readonly enforcement: Enforcement,
    private readonly trial: Trial,
  ) {
    this.broadcast = new Broadcast(
      async () => {
        const tick = await observer.tick();
        return { event: { type: 'tick', data: tick }, gist: JSON.stringify({ ...tick, at: 0 }) };
      },
      { periodMs: PERIOD_MS, heartbeatMs: HEARTBEAT_MS, maxViewers: MAX_VIEWERS },
    );
  }

  @Get()
  @Header('Content-Security-Policy', CONTENT_SECURITY_POLICY)
  page(@Res({ passthrough: true }) response: unknown): string {
    return this.file('index.html', response);
  }

  @Get('control-room/files/:name')
  file(@Param('name') name: string, @Res({ passthrough: true }) response: unknown): string {
    const file = this.files.get(name);
    if (file === undefined) throw new NotFoundException();
    const headers = {
      'Content-Type': file.type,
      'Cache-Control': 'no-cache', // a deployment's page is the deployment's
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
    };
    for (const [header, value] of Object.entries(headers)) {
      this.adapterHost.httpAdapter.setHeader(response, header, value);
    }
    return file.text;
  }

  /** Who is one too many gets a 503. */
  @Sse('control-room/events', { maxPendingDataLength: MAX_PENDING })
  events(@Req() { socket }: { readonly socket: Socket }): Observable<MessageEvent> {
    this.sockets.add(socket);
    return this.broadcast
      .watch(() => ({ type: 'room', data: this.observer.room() }))
      .pipe(finalize(() => this.sockets.delete(socket)));
  }

  @Put('control-room/concert')
  @UseGuards(ControlGuard)
  @HttpCode(HttpStatus.NO_CONTENT)
  switchConcert(@Body() { on }: SwitchDto): void {
    if (on) this.concert.start();
    else this.concert.stop();
  }

  @Put('control-room/enforcement')
  @UseGuards(ControlGuard)
  @HttpCode(HttpStatus.NO_CONTENT)
  switchEnforcement(@Body() { on }: SwitchDto): void {
    this.enforcement.set(on);
  }

  @Post('control-room/trials')
  @UseGuards(ControlGuard)
  @HttpCode(HttpStatus.OK)
  send(@Body() { lane, many }: TrialDto): Promise<TrialResult> {
    return this.trial.send(lane, many);
  }

  /**
   * Before the server closes, which waits for every connection. A browser would use those of the streams for asking again, and
   * again, and the server would never be closed.
   */
  onModuleDestroy(): void {
    const sockets = [...this.sockets];
    this.broadcast.close();
    // The ends of the streams are on their way by then.
    setImmediate(() => sockets.forEach((socket) => socket.destroySoon()));
  }
}
