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
  Put,
  Req,
  Res,
  Sse,
  StreamableFile,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ApiExcludeController } from '@nestjs/swagger';
import { IsBoolean } from 'class-validator';
import { SkipRateLimit } from 'nestjs-floodgate';
import { defer, finalize, type Observable } from 'rxjs';
import { Broadcast } from './broadcast.js';
import { BusyFilter } from './busy.js';
import { ControlGuard } from './control.guard.js';
import type { Room, Tick } from './live.js';
import { OwnPageGuard } from './own-page.guard.js';
import { type PageFile, readHeroFiles, readPageFiles } from './page-files.js';
import { peerOf } from './peer.js';
import { Pods } from './pods/pods.js';
import { RoomApplication } from './room-application.js';
import { RoomGuard } from './room.guard.js';
import { Stage } from './stage/stage.js';
import type { WorldId } from './stage/surge-tick.js';
import { WORLD_IDS } from './stage/world.js';

class SwitchDto {
  @IsBoolean() on: boolean;
}

/** At most four looks per second, even if a timer is early. */
const PERIOD_MS = 260;
const HEARTBEAT_MS = 1000;
const MAX_VIEWERS = 50;
/** Enough for a few people with a few tabs each. One address must not lock others out. */
export const MAX_VIEWERS_PER_PEER = 10;
/** Bytes that wait for a viewer who does not read: the room with its history, and some ticks. */
const MAX_PENDING = 400_000;

/** The names of `readHeroFiles`. */
const HERO_NAME = /^(?:demo|libs|packages)~/;

/** Allows files of this process only, and no inline script or style. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The live page at `/`. It is not limited, since operators need it during a surge. */
@ApiExcludeController()
@Controller()
@SkipRateLimit()
@UseGuards(RoomGuard)
@UseFilters(BusyFilter)
export class ControlRoomController implements OnModuleDestroy {
  private readonly files = readPageFiles();
  /** Read when a page asks for one of them. */
  private heroFiles: ReadonlyMap<string, PageFile> | undefined;
  private readonly broadcast: Broadcast;
  /** The sockets of the viewers. */
  private readonly sockets = new Set<Socket>();

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly application: RoomApplication,
    private readonly pods: Pods,
    private readonly stage: Stage,
  ) {
    this.broadcast = new Broadcast(
      async () => {
        const tick: Tick = { surge: stage.tick(), pods: pods.tick() };
        return { event: { type: 'tick', data: tick }, gist: JSON.stringify(tick) };
      },
      {
        periodMs: PERIOD_MS,
        heartbeatMs: HEARTBEAT_MS,
        maxViewers: MAX_VIEWERS,
        maxViewersPerPeer: MAX_VIEWERS_PER_PEER,
      },
    );
  }

  @Get()
  @Header('Content-Security-Policy', CONTENT_SECURITY_POLICY)
  page(@Res({ passthrough: true }) response: unknown): string | StreamableFile {
    return this.file('index.html', response);
  }

  @Get('control-room/files/:name')
  file(@Param('name') name: string, @Res({ passthrough: true }) response: unknown): string | StreamableFile {
    const file = this.files.get(name) ?? this.heroFile(name);
    if (file === undefined) throw new NotFoundException();
    const headers = {
      'Content-Type': file.type,
      'Cache-Control': file.caching,
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
    };
    for (const [header, value] of Object.entries(headers)) {
      this.adapterHost.httpAdapter.setHeader(response, header, value);
    }
    // The adapters would send bytes as JSON.
    return typeof file.content === 'string'
      ? file.content
      : new StreamableFile(file.content, { type: file.type, length: file.content.length });
  }

  /** A stream of `LiveEvents`. Beyond the limit of all viewers the answer is a 503, beyond that of one address a 429. */
  @Sse('control-room/events', { maxPendingDataLength: MAX_PENDING })
  @UseGuards(OwnPageGuard)
  events(@Req() { socket }: { readonly socket: Socket }): Observable<MessageEvent> {
    const peer = peerOf(socket);
    this.broadcast.admit(peer);
    const events = this.broadcast.watch(peer, () => ({ type: 'room', data: this.room() }));
    // Nest does not subscribe for a client who has left already. Such a viewer would never leave the stage.
    return defer(() => {
      this.sockets.add(socket);
      const leave = this.stage.enter();
      return events.pipe(
        finalize(() => {
          leave();
          this.sockets.delete(socket);
        }),
      );
    });
  }

  /** Both are idempotent: the surge starts as soon as the worlds are ready, and a second press changes nothing. */
  @Put('control-room/surge')
  @UseGuards(OwnPageGuard, ControlGuard)
  @HttpCode(HttpStatus.NO_CONTENT)
  switchSurge(@Body() { on }: SwitchDto): void {
    if (on) this.stage.start();
    else this.stage.stop();
  }

  @Put('control-room/worlds/:world/limits')
  @UseGuards(OwnPageGuard, ControlGuard)
  @HttpCode(HttpStatus.NO_CONTENT)
  async switchLimits(@Param('world') world: string, @Body() { on }: SwitchDto): Promise<void> {
    if (!WORLD_IDS.includes(world as WorldId)) throw new NotFoundException();
    await this.stage.setLimits(world as WorldId, on);
  }

  /**
   * Ends the streams before the server closes, which waits for every connection. A browser would use the connections of the
   * streams to connect again, and the server would never close.
   */
  onModuleDestroy(): void {
    const sockets = [...this.sockets];
    this.broadcast.close();
    // By then the ends of the streams are written.
    setImmediate(() => sockets.forEach((socket) => socket.destroySoon()));
  }

  /** Undefined in a process that runs from its sources, where a browser finds no compiled modules. */
  private heroFile(name: string): PageFile | undefined {
    if (!HERO_NAME.test(name)) return undefined;
    try {
      this.heroFiles ??= readHeroFiles();
    } catch {
      this.heroFiles = new Map();
    }
    return this.heroFiles.get(name);
  }

  private room(): Room {
    const { application, pods, stage } = this;
    return { mode: application.mode, surge: stage.description, pods: pods.room(), history: stage.history };
  }
}
