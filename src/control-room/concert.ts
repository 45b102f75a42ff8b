import { ConflictException, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { HttpAdapterHost } from '@nestjs/core';
import type { Configuration, MatchingConfiguration } from '../config/configuration.js';
import { Crowd, HttpSender } from '../riders/index.js';
import type { ConcertTick } from './live.js';
import { ownOrigin } from './own-origin.js';

const SECONDS = 60;
/** What one process can send and answer at the same time on a small machine. */
const MAX_DEMAND = 600;
const MAX_RIDERS = 4000;
const TOO_MUCH = 2.5;

const QUIET = { inApp: 0, waiting: 0, allowed: 0, rejected: 0, failed: 0 };

interface Surge {
  readonly crowd: Crowd;
  readonly sender: HttpSender;
  readonly endsAt: number;
  readonly end: NodeJS.Timeout;
  ending: boolean;
}

/** The concert ends: simulated riders ask this process, over HTTP, for more than matching can do. One surge at a time. */
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

  /** @throws ConflictException while riders of the last surge still wait for their answers, or when nothing can be sent */
  start(): void {
    if (this.surge?.ending) {
      throw new ConflictException('riders of the last surge still wait for their answers: try again in a few seconds');
    }
    if (this.surge !== undefined) return;
    const { riders, demand } = this.size;
    const sender = new HttpSender([ownOrigin(this.adapterHost)]);
    const crowd = new Crowd({ riders, demand, seed: 1, pods: 1, send: sender.send });
    const end = setTimeout(() => this.stop(), 1000 * SECONDS);
    this.surge = { crowd, sender, endsAt: performance.now() + 1000 * SECONDS, end, ending: false };
    crowd.start();
    this.logger.log(`The concert ends: ${riders} riders, ${demand} requests a second`);
  }

  /** Nothing more is sent; who waits gets an answer. */
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

  /** Riders hang up, so that the server need not wait for them. */
  async onModuleDestroy(): Promise<void> {
    const { surge } = this;
    this.stop();
    await surge?.sender.close();
  }
}

/** More than twice what matching can answer, from so many riders that its queue could fill. */
export function crowdFor(matching: Pick<MatchingConfiguration, 'workers' | 'serviceMs' | 'queue'>): {
  riders: number;
  demand: number;
} {
  const canAnswer = (1000 * matching.workers) / matching.serviceMs; // Infinity where it takes no time
  return {
    riders: Math.min(MAX_RIDERS, 1000 + matching.queue),
    demand: Math.round(Math.min(MAX_DEMAND, TOO_MUCH * canAnswer)),
  };
}

function countsOf(crowd: Crowd): typeof QUIET {
  const { inApp, waiting, allowed, rejected, failed } = crowd.snapshot();
  return { inApp, waiting, allowed, rejected, failed };
}
