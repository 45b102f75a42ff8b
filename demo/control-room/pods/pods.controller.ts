import type { Socket } from 'node:net';
import { Body, Controller, HttpCode, HttpStatus, Post, Put, Req, UseFilters, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { IsBoolean } from 'class-validator';
import { SkipRateLimit } from 'nestjs-floodgate';
import { BusyFilter } from '../busy.js';
import { ClientSignal } from '../client-signal.js';
import { ControlGuard } from '../control.guard.js';
import { OwnPageGuard } from '../own-page.guard.js';
import { peerOf } from '../peer.js';
import { RoomGuard } from '../room.guard.js';
import { SendQueue } from '../send-queue.js';
import { Pods } from './pods.js';
import type { PodsResult } from './pods-tick.js';

class CountingDto {
  @IsBoolean() together: boolean;
}

class StoreDto {
  @IsBoolean() up: boolean;
}

/** One press at a time: two at once would compete for a small machine. The first one starts three processes. */
const SENDS = { running: 1, waiting: 12, perPeer: 4, timeoutMs: 60_000 };

/** Three pods and the store that they share: the buttons of the page. */
@ApiExcludeController()
@Controller('control-room/pods')
@SkipRateLimit()
@UseGuards(RoomGuard, OwnPageGuard, ControlGuard)
@UseFilters(BusyFilter)
export class PodsController {
  private readonly sends = new SendQueue(SENDS);

  constructor(private readonly pods: Pods) {}

  @Put('counting')
  @HttpCode(HttpStatus.NO_CONTENT)
  count(@Body() { together }: CountingDto): void {
    this.pods.count(together);
  }

  @Post('sends')
  @HttpCode(HttpStatus.OK)
  send(@Req() { socket }: { readonly socket: Socket }, @ClientSignal() gone: AbortSignal): Promise<PodsResult> {
    return this.sends.run(peerOf(socket), gone, (signal) => this.pods.send(signal));
  }

  /** Ends the Redis of the pods and the worlds, or starts it again. */
  @Put('redis')
  @HttpCode(HttpStatus.NO_CONTENT)
  async turnStore(@Body() { up }: StoreDto): Promise<void> {
    await this.pods.turnStore(up);
  }
}
