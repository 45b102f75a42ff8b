import { Controller, type DynamicModule, Get, Headers, Inject, Injectable, Module } from '@nestjs/common';
import { ipIdentity, RateLimit, RateLimitModule, userIdentity } from 'nestjs-floodgate';
import { createClient } from 'redis';
import { now } from '../clock.js';
import type { ChaosClient } from '../options.js';
import { DEADLINE_MS, PLACES, POLICIES, type PolicyName, ROUTES, SHARE } from '../policies.js';
import type { Recorder } from './recorder.js';

const RECORDER = Symbol('recorder');

/** The additional work of the handlers. The run sets it. */
@Injectable()
export class Work {
  /** Milliseconds for which a handler computes. */
  busyMs = 0;
}

/** Blocks the event loop of this process. */
export function compute(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

@Controller()
class Routes {
  constructor(
    @Inject(RECORDER) private readonly recorder: Recorder,
    @Inject(Work) private readonly work: Work,
  ) {}

  handle(id: string): string {
    this.recorder.add({ kind: 'handled', id, at: now() });
    if (this.work.busyMs > 0) compute(this.work.busyMs);
    return id;
  }
}

for (const [route, [first, ...others]] of Object.entries(ROUTES)) {
  const value = function (this: Routes, id: string): string {
    return this.handle(id);
  };
  const method = { value, configurable: true };
  Object.defineProperty(Routes.prototype, route, method);
  Get(route)(Routes.prototype, route, method);
  RateLimit(first, ...others)(Routes.prototype, route, method);
  Headers('x-request-id')(Routes.prototype, route, 0);
}

export interface PodOptions {
  readonly redisPort: number;
  readonly client: ChaosClient;
  readonly recorder: Recorder;
}

@Module({})
export class PodModule {
  static of({ redisPort, client, recorder }: PodOptions): DynamicModule {
    const policies = Object.fromEntries(
      (Object.keys(POLICIES) as PolicyName[]).map((name) => [name, POLICIES[name].policy]),
    );
    const socket = { host: 'redis.test', port: redisPort };
    const limits = RateLimitModule.forRoot({
      redis: client === 'ioredis' ? socket : createClient({ socket }),
      policies: { ...policies, places: PLACES },
      middleware: ['gate'],
      identity: [userIdentity(), ipIdentity()],
      deadline: DEADLINE_MS,
      onStoreFailure: 'local',
      localShare: SHARE,
      onDecision: (event) => recorder.decided(event),
    });
    const providers = [{ provide: RECORDER, useValue: recorder }, Work];
    return { module: PodModule, imports: [limits], controllers: [Routes], providers };
  }
}
