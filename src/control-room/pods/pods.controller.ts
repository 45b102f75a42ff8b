import type { Socket } from 'node:net';
import {
  Body,
  Controller,
  HttpCode,
  HttpStatus,
  Post,
  Put,
  Req,
  RequestTimeoutException,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { IsBoolean } from 'class-validator';
import { SkipRateLimit } from 'nestjs-floodgate';
import { BusyFilter } from '../../http/busy.js';
import { peerOf } from '../../http/peer.js';
import { ControlGuard } from '../control.guard.js';
import { OwnPageGuard } from '../own-page.guard.js';
import { RoomGuard } from '../room.guard.js';
import { TrialQueue } from '../trial-queue.js';
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
  private readonly sends = new TrialQueue(SENDS);

  constructor(private readonly pods: Pods) {}

  @Put('counting')
  @HttpCode(HttpStatus.NO_CONTENT)
  count(@Body() { together }: CountingDto): void {
    this.pods.count(together);
  }

  @Post('sends')
  @HttpCode(HttpStatus.OK)
  async send(@Req() { socket }: { readonly socket: Socket }): Promise<PodsResult> {
    const client = new AbortController();
    const leave = (): void => client.abort();
    socket.once('close', leave);
    if (socket.destroyed) leave();
    try {
      return await this.sends.run(peerOf(socket), client.signal, (signal) => this.pods.send(signal));
    } catch (error) {
      // The client has left. This answer is not read, but Nest would log any other error.
      throw client.signal.aborted ? new RequestTimeoutException() : error;
    } finally {
      socket.off('close', leave);
    }
  }

  /** Ends the Redis of the pods and the worlds, or starts it again. */
  @Put('redis')
  @HttpCode(HttpStatus.NO_CONTENT)
  async turnStore(@Body() { up }: StoreDto): Promise<void> {
    await this.pods.turnStore(up);
  }
}
