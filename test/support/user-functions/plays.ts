import { Controller, Get, HttpException, Injectable, SetMetadata, type Type } from '@nestjs/common';
import { APP_GUARD, ExternalContextCreator } from '@nestjs/core';
import {
  type ContextAdapter,
  type Policy,
  RateLimit,
  RateLimitAdminModule,
  RateLimitGuard,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleExtras,
  type RateLimitModuleOptions,
  type ShedOptions,
} from 'nestjs-floodgate';
import { rateLimitFetch } from 'floodgate-client';
import { ThrottlerGuard, ThrottlerModule, type ThrottlerModuleOptions } from 'nestjs-floodgate/throttler';
import { until } from '../faults/until.js';
import { type HttpApp, type Platform, PLATFORMS, start } from '../http-app.js';
import { StillStore } from '../still-store.js';
import { ToldStore } from '../told-store.js';
import type { UserFunctionName } from './table.js';

/** A function that a play gives to the library. */
// oxlint-disable-next-line typescript/no-explicit-any -- it stands for each function of the table, right or wrong
export type Given = (...args: any[]) => any;

export interface Play {
  /** The function as it should be. */
  readonly right: Given;
  /** Gives the function to an application, and tells what its requests got, the first few of them. */
  readonly run: (given: Given, platform: Platform) => Promise<string>;
  /** What they get when it is right. */
  readonly works: string;
  /** What they get when it throws or rejects. */
  readonly fails: string;
  /** Default as `fails`; null: nothing has a deadline. */
  readonly hangs?: string | null;
  /** Default as `fails`; undefined: any answer is one. */
  readonly nonsense?: string | undefined;
  /** What they get when it returns what throws where somebody looks at it. Default as if it rejected. */
  readonly unreadable?: string;
  /** Where it runs; default Express. Both where Nest, and not the library, answers. */
  readonly platforms?: readonly Platform[];
  /** What they get when it returns a promise that nothing awaits, and that comes to nothing. Default as `works`. */
  readonly ignored?: string;
}

const DEADLINE_MS = 20;

@Controller()
class Plain {
  @Get()
  get(): string {
    return 'passed';
  }
}

const limitOf = (limit: number, more: object = {}): Policy => ({
  name: 'window',
  algorithm: 'fixed-window',
  limit,
  window: '1h',
  ...more,
});

type Options = RateLimitModuleOptions & RateLimitModuleExtras;

/** The statuses of requests to an application with these defaults, one after the other. */
async function statuses(
  platform: Platform,
  count: number,
  options: Options,
  providers: readonly { provide: string; useClass: Type }[] = [],
): Promise<string> {
  await using app = await serve(platform, options, providers);
  return await asked(app, count);
}

function serve(platform: Platform, options: Options, providers: readonly object[] = []): Promise<HttpApp> {
  return start(platform, {
    imports: [RateLimitModule.forRoot({ deadline: DEADLINE_MS, store: new StillStore(), ...options })],
    controllers: [Plain],
    providers: providers as never,
  });
}

async function asked(app: HttpApp, count: number): Promise<string> {
  return (await app.statuses(count, '/')).join(' ');
}

/** A guard with one step of the test's. */
function guardWith(step: 'shouldSkip' | 'identityTag' | 'setHeaders' | 'refuse', given: Given): object[] {
  @Injectable()
  class Own extends RateLimitGuard {}
  Object.defineProperty(Own.prototype, step, { value: given });
  return [{ provide: APP_GUARD, useClass: Own }];
}

function stepPlay(step: Parameters<typeof guardWith>[0], limit: number): Play['run'] {
  return async (given, platform) => {
    await using app = await serve(platform, { guard: false, defaults: [limitOf(limit)] }, guardWith(step, given));
    return await asked(app, 2);
  };
}

async function throttled(
  options: ThrottlerModuleOptions,
  count: number,
  guard: Type = ThrottlerGuard,
): Promise<string> {
  await using app = await start('Express', {
    imports: [ThrottlerModule.forRoot(options)],
    controllers: [Plain],
    providers: [{ provide: APP_GUARD, useClass: guard }],
  });
  return await asked(app, count);
}

const throttler = (limit: number, more: object): ThrottlerModuleOptions => ({
  throttlers: [{ limit, ttl: 60_000, ...more }],
  deadline: DEADLINE_MS,
});

/** The statuses of requests to an application that sheds all of its one class, or whose `check` has failed. */
async function shedding(platform: Platform, shed: Pick<ShedOptions, 'check' | 'priority'>): Promise<string> {
  await using app = await serve(platform, { shed: { classes: ['background'], window: 100, ...shed } });
  await until('the shedding of all, or a failure', 5_000, async () => {
    const { shedding: found, functionFailures } = app.app.get(RateLimiter).stats();
    return found?.level === 1 || (functionFailures.shed ?? 0) > 0;
  });
  return await asked(app, 2);
}

/** Whether the one charge of an application was refunded: its function was called at the end of the request. */
function refundPlay(name: 'countIf' | 'settle'): Play['run'] {
  return async (given) => {
    await using app = await serve('Express', { defaults: [limitOf(1, { [name]: given })] });
    const first = await asked(app, 1);
    const limiter = app.app.get(RateLimiter);
    const refunded = await until('the end of the request', 5_000, async () => {
      const peeked = await limiter.peek([Plain, 'get'], { kind: 'ip', value: '127.0.0.1' });
      if (peeked.policies[0]!.remaining === 1) return 'refunded';
      return limiter.stats().functionFailures[name] === 1 && 'charged';
    });
    return `${first} ${refunded}`;
  };
}

@Injectable()
class Jobs {
  @SetMetadata('job', true)
  @RateLimit(
    limitOf(1),
    { name: 'running', algorithm: 'concurrency', limit: 5, lease: '1m' },
    { name: 'queue', algorithm: 'leaky-bucket', capacity: 5, drain: 1_000_000 },
  )
  mail(): string {
    return 'mailed';
  }
}

/** Two calls in a context of the application. */
function adapterPlay(name: 'request' | 'operation' | 'opened' | 'toError' | 'client' | 'ends'): Play['run'] {
  return async (given) => {
    const adapter: ContextAdapter = {
      type: 'job',
      handlers: 'a job',
      place: 'providers',
      isHandler: (_, handler) => Reflect.hasMetadata('job', handler),
      request: () => ({ headers: {}, ip: '10.0.0.1' }),
      [name]: given,
    };
    await using app = await start('Express', {
      imports: [RateLimitModule.forRoot({ store: new StillStore(), deadline: DEADLINE_MS, contexts: [adapter] })],
      providers: [Jobs],
    });
    const jobs = app.app.get(Jobs);
    const none = undefined;
    const call = app.app
      .get(ExternalContextCreator)
      .create(jobs, Reflect.get(jobs, 'mail'), 'mail', none, none, none, none, none, 'job') as (
      job: object,
    ) => Promise<string>;
    const seen: string[] = [];
    for (let i = 0; i < 2; i++) {
      seen.push(
        await call({}).catch((error: unknown) =>
          error instanceof Error && error.message.startsWith('job: ') ? 'own' : 'failed',
        ),
      );
    }
    return seen.join(' ');
  };
}

const LIBRARY = new Set(['RateLimit']);
let users = 0;

/** One table, so that a function without a row does not compile: that is why the file is long. */
export const PLAYS: Readonly<Record<UserFunctionName, Play>> = {
  choose: {
    right: () => limitOf(2, { name: 'two' }),
    run: (choose, platform) => statuses(platform, 3, { defaults: [{ choose, fallback: limitOf(1) }] }),
    works: '200 200 429',
    fails: '200 429 429',
  },
  by: {
    right: () => ({ kind: 'user', value: `user-${users++}` }),
    run: (by, platform) => statuses(platform, 2, { defaults: [limitOf(1, { by })] }),
    works: '200 200',
    fails: '200 429',
    nonsense: '500 500',
  },
  cost: {
    right: () => 2,
    run: (cost, platform) => statuses(platform, 3, { defaults: [limitOf(2, { cost })] }),
    works: '200 429 429',
    fails: '200 200 429',
    nonsense: '500 500 500',
  },
  skipIf: {
    right: () => true,
    run: (skipIf, platform) => statuses(platform, 2, { defaults: [limitOf(1, { skipIf })] }),
    works: '200 200',
    fails: '200 429',
  },
  timeZone: {
    right: () => 'Asia/Tokyo',
    run: async (timeZone) => {
      const store = new StillStore();
      const daily = limitOf(1, { window: { calendar: 'day', timeZone } });
      const seen = await statuses('Express', 2, { store, defaults: [daily] });
      return `${seen} ${store.keys.every((key) => key.includes('Tokyo')) ? 'Tokyo' : 'UTC'}`;
    },
    works: '200 429 Tokyo',
    fails: '200 429 UTC',
  },
  priority: {
    right: () => 'first',
    run: (priority, platform) =>
      statuses(platform, 3, { defaults: [limitOf(2, { priorities: { first: 1, second: 0.5 }, priority })] }),
    works: '200 200 429',
    fails: '200 429 429',
    nonsense: '500 500 500',
  },
  countIf: { right: () => false, run: refundPlay('countIf'), works: '200 refunded', fails: '200 charged' },
  settle: { right: () => 0, run: refundPlay('settle'), works: '200 refunded', fails: '200 charged' },
  resolve: {
    right: () => `user-${users++}`,
    run: (resolve, platform) =>
      statuses(platform, 2, { identity: [{ kind: 'user', resolve }], defaults: [limitOf(1, { by: 'user' })] }),
    works: '200 200',
    fails: '200 429',
    nonsense: '500 500',
  },
  'plan.resolve': {
    right: () => 'pro',
    run: (resolve, platform) =>
      // A request that is rejected does not wait for what comes after the deadline.
      statuses(platform, 3, {
        plan: { resolve, timeout: 1 },
        defaults: [limitOf(1, { plans: { pro: { limit: 2 } } })],
      }),
    works: '200 200 429',
    fails: '200 429 429',
  },
  'shed.check': {
    right: () => true,
    run: (check, platform) => shedding(platform, { check, priority: 'background' }),
    works: '503 503',
    fails: '200 200',
  },
  'shed.priority': {
    right: () => 'background',
    run: (priority, platform) => shedding(platform, { check: () => true, priority }),
    works: '503 503',
    fails: '200 200',
    platforms: PLATFORMS,
  },
  allowList: {
    right: () => true,
    run: (allowList, platform) => statuses(platform, 2, { allowList, defaults: [limitOf(1)] }),
    works: '200 200',
    fails: '200 429',
  },
  blockList: {
    right: () => true,
    run: (blockList, platform) => statuses(platform, 2, { blockList, defaults: [limitOf(1)] }),
    works: '403 403',
    fails: '200 429',
  },
  problem: {
    right: () => ({ title: 'own' }),
    run: async (problem, platform) => {
      await using app = await serve(platform, { problem, defaults: [limitOf(1)] });
      await app.send('/');
      const { status, body } = await app.send('/');
      return `${status} ${(body as { title: string }).title}`;
    },
    works: '429 own',
    fails: '429 Quota Exceeded',
    platforms: PLATFORMS,
  },
  onDecision: {
    right: () => undefined,
    run: (onDecision, platform) => statuses(platform, 2, { onDecision, defaults: [limitOf(1)] }),
    works: '200 429',
    fails: '200 429',
  },
  onThreshold: {
    right: () => undefined,
    run: (onThreshold, platform) =>
      statuses(platform, 2, { onThreshold, defaults: [{ ...limitOf(1), thresholds: [1] }] }),
    works: '200 429',
    fails: '200 429',
  },
  onStoreStateChange: {
    right: () => undefined,
    run: (onStoreStateChange, platform) =>
      statuses(platform, 2, {
        store: undefined,
        redis: 'redis://127.0.0.1:1',
        onStoreStateChange,
        defaults: [limitOf(1)],
      }),
    works: '200 429',
    fails: '200 429',
  },
  consume: {
    right: (charges: never) => new StillStore().consume(charges),
    run: (consume, platform) =>
      statuses(platform, 2, {
        store: new ToldStore(consume),
        onStoreFailure: 'closed',
        defaults: [limitOf(1)],
      }),
    works: '200 200', // each from a store that is new
    fails: '503 503',
  },
  shouldSkip: {
    right: () => true,
    run: stepPlay('shouldSkip', 1),
    platforms: PLATFORMS,
    works: '200 200',
    fails: '500 500',
    hangs: '200 429',
    nonsense: '200 429',
  },
  identityTag: {
    right: () => `user:${users++}`,
    run: stepPlay('identityTag', 1),
    platforms: PLATFORMS,
    works: '200 200',
    fails: '500 500',
    hangs: '200 429',
    nonsense: '500 500',
  },
  setHeaders: {
    right: () => undefined,
    run: stepPlay('setHeaders', 1),
    platforms: PLATFORMS,
    works: '200 429',
    fails: '500 500',
    hangs: '200 429',
    nonsense: '200 429',
  },
  refuse: {
    right: () => {
      throw new HttpException('own', 418);
    },
    run: stepPlay('refuse', 1),
    platforms: PLATFORMS,
    works: '200 418',
    fails: '200 500',
    hangs: '200 429',
    nonsense: '200 429',
  },
  request: {
    right: () => ({ headers: {}, ip: '10.0.0.2' }),
    run: adapterPlay('request'),
    works: 'mailed failed',
    fails: 'failed failed',
  },
  operation: {
    right: () => ({}),
    run: adapterPlay('operation'),
    unreadable: 'mailed failed',
    works: 'mailed failed',
    fails: 'failed failed',
    nonsense: undefined,
  },
  opened: {
    right: () => undefined,
    run: adapterPlay('opened'),
    works: 'mailed failed',
    fails: 'failed failed',
    hangs: null,
    nonsense: 'mailed failed',
  },
  toError: {
    right: () => new Error('job: rejected'),
    run: adapterPlay('toError'),
    works: 'mailed own',
    fails: 'mailed failed',
  },
  client: {
    right: () => ({ gone: false, onGone: () => () => undefined }),
    run: adapterPlay('client'),
    works: 'mailed failed',
    fails: 'failed failed',
  },
  ends: {
    right: () => 'handler',
    run: adapterPlay('ends'),
    unreadable: 'mailed failed',
    works: 'mailed failed',
    fails: 'failed failed',
    nonsense: 'mailed failed',
  },
  author: {
    right: () => 'eve@example.com',
    run: async (author, platform) => {
      await using app = await start(platform, {
        imports: [
          RateLimitModule.forRoot({
            store: new StillStore(),
            deadline: DEADLINE_MS,
            policies: { window: limitOf(1, { by: 'user' }) },
          }),
          RateLimitAdminModule.register({ guards: [{ canActivate: () => true }], author }),
        ],
      });
      const reply = await fetch(`http://127.0.0.1:${app.port}/admin/limits/overrides`, {
        method: 'PUT',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({
          policy: 'window',
          identity: 'user:ada',
          change: { blocked: true },
          expiresIn: '1h',
          reason: 'test',
        }),
      });
      const { author: noted = 'nobody' } = (await reply.json()) as { author?: string };
      return `${reply.status} ${noted}`;
    },
    works: '200 eve@example.com',
    fails: '500 nobody',
  },
  logger: {
    right: () => undefined,
    run: async (given, platform) => {
      const cost = (): number => {
        throw new Error('gone');
      };
      await using app = await serve(platform, { defaults: [limitOf(1, { cost })] });
      // Nest drops what a logger returns: its own lines stay apart.
      const log = (...parts: unknown[]): unknown => (LIBRARY.has(String(parts.at(-1))) ? given(...parts) : undefined);
      app.app.useLogger({ log, warn: log, error: log });
      return await asked(app, 2);
    },
    works: '200 429',
    fails: '200 429',
  },
  'skipIf of a throttler': {
    right: () => true,
    run: (skipIf) => throttled(throttler(1, { skipIf }), 2),
    works: '200 200',
    fails: '500 500',
    hangs: '200 429',
    nonsense: undefined,
  },
  getTracker: {
    right: () => `user-${users++}`,
    run: (getTracker) => throttled(throttler(1, { getTracker }), 2),
    works: '200 200',
    fails: '500 500',
    hangs: '200 429',
    nonsense: undefined,
  },
  generateKey: {
    right: () => `key-${users++}`,
    run: (generateKey) => throttled(throttler(1, { generateKey }), 2),
    works: '200 200',
    fails: '500 500',
    hangs: '200 429',
    nonsense: '500 500',
  },
  limit: {
    right: () => 1,
    run: (limit) => throttled(throttler(1, { limit }), 2),
    works: '200 429',
    fails: '500 500',
    hangs: '200 200',
    nonsense: '500 500',
  },
  errorMessage: {
    right: () => 'slow down',
    run: (errorMessage) => throttled({ ...(throttler(1, {}) as object), errorMessage } as ThrottlerModuleOptions, 2),
    works: '200 429',
    fails: '200 500',
    hangs: '200 429',
    nonsense: undefined,
  },
  throwThrottlingException: {
    right: () => {
      throw new HttpException('own', 418);
    },
    run: (given) => {
      @Injectable()
      class Own extends ThrottlerGuard {}
      Object.defineProperty(Own.prototype, 'throwThrottlingException', { value: given });
      return throttled(throttler(1, {}), 2, Own);
    },
    works: '200 418',
    fails: '200 500',
    hangs: '200 429',
    nonsense: '200 200',
  },
  partition: { right: () => 'all', run: (partition) => fetched({ partition }), works: '200', fails: 'failed' },
  onWait: {
    right: () => undefined,
    run: (onWait) => fetched({ onWait }),
    works: '200',
    fails: 'failed',
    nonsense: '200',
  },
};

/** One call, which has to wait once. */
async function fetched(options: object): Promise<string> {
  let calls = 0;
  // A clock on which each wait is over in the next turn.
  let now = 0;
  const setTimer = (task: () => void, ms: number): (() => void) => {
    now += ms;
    const turn = setImmediate(task);
    return () => clearImmediate(turn);
  };
  const limited = rateLimitFetch({
    ...options,
    time: { now: () => now, wallNow: () => now, setTimer },
    fetch: async () =>
      calls++ === 0
        ? new Response('', { status: 429, headers: { 'Retry-After': '1' } })
        : new Response('', { status: 200 }),
  });
  try {
    return String((await limited('http://127.0.0.1/')).status);
  } catch {
    return 'failed';
  }
}
