import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { RateLimiter } from 'nestjs-floodgate';
import type { Configuration } from '../config/configuration.js';
import { CLIENT_CLOSED_REQUEST } from '../http/client-signal.js';
import { HttpAnswers } from '../http/http-answers.js';
import { Enforcement } from '../limits/enforcement.js';
import { Routes } from '../limits/routes.js';
import { deciderOf } from './decider.js';
import { lanesOf } from './lanes.js';
import type { ProcessSample } from './live.js';
import { type AnswerKind, RecentAnswers, rounded } from './stage/recent-answers.js';

const SAMPLE_MS = 1000;
/** A minute and a half of them: what a chart shows before its first tick. */
const KEPT = 90;

/** What clients of this process get on the routes of the lanes. The worlds are processes of their own and do not count here. */
@Injectable()
export class OwnClients implements OnModuleInit, OnModuleDestroy {
  private readonly recent = new RecentAnswers();
  private readonly samples: ProcessSample[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly config: ConfigService<Configuration, true>,
    private readonly routes: Routes,
    private readonly answers: HttpAnswers,
    private readonly enforcement: Enforcement,
    private readonly limiter: RateLimiter,
  ) {}

  /** The last minute and a half, oldest first. */
  get history(): readonly ProcessSample[] {
    return this.samples;
  }

  onModuleInit(): void {
    const limited = new Set(
      lanesOf(this.config, this.routes).map(({ route: { method, path } }) => `${method} ${path}`),
    );
    this.answers.listen(({ method, route, status, tookMs }) => {
      if (limited.has(`${method} ${route}`)) this.recent.note(performance.now(), kindOf(status), tookMs);
    });
    this.timer = setInterval(() => {
      this.samples.push(this.sample());
      if (this.samples.length > KEPT) this.samples.shift();
    }, SAMPLE_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
  }

  sample(): ProcessSample {
    const now = performance.now();
    const { served, refused, failed } = this.recent.rates(now);
    const p99Ms = this.recent.p99Ms(now);
    const decider = deciderOf(this.config, this.enforcement, this.limiter);
    return { at: Date.now(), served, refused, failed, p99Ms: p99Ms && rounded(p99Ms, 1), decider };
  }
}

/** A client who is told what is wrong with the request is served. */
function kindOf(status: number): AnswerKind {
  if (status === 429) return 'refused';
  return status < CLIENT_CLOSED_REQUEST ? 'served' : 'failed';
}
