import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { RateLimiter } from 'nestjs-floodgate';
import { CLIENT_CLOSED_REQUEST } from './client-signal.js';
import { deciderOf } from './decider.js';
import type { LaneTick, ProcessSample } from './live.js';
import { RoomApplication } from './room-application.js';
import { type AnswerKind, RecentAnswers, rounded } from './stage/recent-answers.js';

const SAMPLE_MS = 1000;
/** A minute and a half of them: what a chart shows before its first tick. */
const KEPT = 90;

/** What clients of this process get on the routes of the lanes. The worlds are processes of their own and do not count here. */
@Injectable()
export class OwnClients implements OnModuleInit, OnModuleDestroy {
  private readonly recent = new RecentAnswers();
  private readonly samples: ProcessSample[] = [];
  /** By method and route. */
  private readonly counts: ReadonlyMap<string, { passed: number; rejected: number }>;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly application: RoomApplication,
    private readonly limiter: RateLimiter,
  ) {
    this.counts = new Map(
      application.lanes.map(({ method, path }) => [`${method} ${path}`, { passed: 0, rejected: 0 }]),
    );
  }

  /** The last minute and a half, oldest first. */
  get history(): readonly ProcessSample[] {
    return this.samples;
  }

  onModuleInit(): void {
    this.application.onAnswer(({ method, route, status, tookMs }) => {
      const counts = this.counts.get(`${method} ${route}`);
      if (counts === undefined) return;
      const kind = kindOf(status);
      counts[kind === 'refused' ? 'rejected' : 'passed']++;
      this.recent.note(performance.now(), kind, tookMs);
    });
    this.timer = setInterval(() => {
      this.samples.push(this.sample());
      if (this.samples.length > KEPT) this.samples.shift();
    }, SAMPLE_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
  }

  /** Requests of a lane's route since the start. */
  countsOf({ method, path }: { readonly method: string; readonly path: string }): Omit<LaneTick, 'riders'> {
    return { ...this.counts.get(`${method} ${path}`)! };
  }

  sample(): ProcessSample {
    const now = performance.now();
    const { served, refused, failed } = this.recent.rates(now);
    const p99Ms = this.recent.p99Ms(now);
    const decider = deciderOf(this.application.limited, this.application.usesRedis, this.limiter);
    return { at: Date.now(), served, refused, failed, p99Ms: p99Ms && rounded(p99Ms, 1), decider };
  }
}

/** A client who is told what is wrong with the request is served. */
function kindOf(status: number): AnswerKind {
  if (status === 429) return 'refused';
  return status < CLIENT_CLOSED_REQUEST ? 'served' : 'failed';
}
