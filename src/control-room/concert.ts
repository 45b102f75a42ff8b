import { ConflictException, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { HttpAdapterHost } from '@nestjs/core';
import type { Configuration, MatchingConfiguration } from '../config/configuration.js';
import { Crowd, HttpSender } from '../riders/index.js';
import type { ConcertTick } from './live.js';
import { ownOrigin } from './own-origin.js';

const SECONDS = 60;
/** The most requests per second that one process on a small machine can both send and answer. */
const MAX_DEMAND = 600;
const MAX_RIDERS = 4000;
/** The demand as a multiple of what matching can answer. */
const TOO_MUCH = 2.5;

const QUIET = { inApp: 0, waiting: 0, allowed: 0, rejected: 0, failed: 0 };

interface Surge {
  readonly crowd: Crowd;
  readonly sender: HttpSender;
  readonly endsAt: number;
  readonly end: NodeJS.Timeout;
  ending: boolean;
}

/** Sends simulated riders to this process over HTTP: more than matching can answer, one surge at a time. */
@Injectable()
export class Concert implements OnModuleDestroy {
  readonly size: { readonly riders: number; readonly demand: number; readonly seconds: number };
  private readonly logger = new Logger('ControlRoom');
  private surge: Surge | undefined;
  private last = QUIET;

  constructor(
    config: ConfigService<Configuration, true>,
    private readonly adapterHost: HttpAdapterHost,
  ) {
    this.size = { ...crowdFor(config.get('matching', { infer: true })), seconds: SECONDS };
  }

  /** @throws ConflictException while riders of the last surge still wait, or when the process does not listen on TCP */
  start(): void {
    if (this.surge?.ending) {
      throw new ConflictException('riders of the last surge still wait for their answers; try again in a few seconds');
    }
    if (this.surge !== undefined) return;
    const { riders, demand } = this.size;
    const sender = new HttpSender([ownOrigin(this.adapterHost)]);
    const crowd = new Crowd({ riders, demand, seed: 1, pods: 1, send: sender.send });
    const end = setTimeout(() => this.stop(), 1000 * SECONDS);
    this.surge = { crowd, sender, endsAt: performance.now() + 1000 * SECONDS, end, ending: false };
    crowd.start();
    this.logger.log(`The concert ends: ${riders} simulated riders send ${demand} requests per second`);
  }

  /** Sends no further requests. Riders who wait still get their answers. */
  stop(): void {
    const { surge } = this;
    if (surge === undefined || surge.ending) return;
    surge.ending = true;
    clearTimeout(surge.end);
    void surge.crowd.stop().then(async () => {
      this.last = countsOf(surge.crowd);
      this.surge = undefined;
      await surge.sender.close();
    });
  }

  tick(): ConcertTick {
    if (this.surge === undefined) return { phase: 'quiet', secondsLeft: 0, ...this.last, inApp: 0, waiting: 0 };
    const { crowd, endsAt, ending } = this.surge;
    const secondsLeft = ending ? 0 : Math.max(0, Math.ceil((endsAt - performance.now()) / 1000));
    return { phase: ending ? 'ending' : 'running', secondsLeft, ...countsOf(crowd) };
  }

  /** Closes the riders' connections, so that the server does not wait for them. */
  async onModuleDestroy(): Promise<void> {
    const { surge } = this;
    this.stop();
    await surge?.sender.close();
  }
}

/** More than twice as many requests as matching can answer, from enough riders to fill its queue. */
export function crowdFor(matching: Pick<MatchingConfiguration, 'workers' | 'serviceMs' | 'queue'>): {
  riders: number;
  demand: number;
} {
  const canAnswer = (1000 * matching.workers) / matching.serviceMs; // Infinity if a request takes no time
  return {
    riders: Math.min(MAX_RIDERS, 1000 + matching.queue),
    demand: Math.round(Math.min(MAX_DEMAND, TOO_MUCH * canAnswer)),
  };
}

function countsOf(crowd: Crowd): typeof QUIET {
  const { inApp, waiting, allowed, rejected, failed } = crowd.snapshot();
  return { inApp, waiting, allowed, rejected, failed };
}
