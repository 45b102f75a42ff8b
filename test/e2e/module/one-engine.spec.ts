import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  type Decision,
  type DecisionEvent,
  type Policy,
  RateLimit,
  type RateLimitExceededBody,
  RateLimiter,
  type RateLimitModuleExtras,
  type RateLimitModuleOptions,
  type RateLimitRequest,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited, type Reply } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

interface Request {
  readonly user: string;
  readonly cost: number;
  /** The milliseconds from the previous request to this one. */
  readonly afterMs: number;
}

/** The decisions and charges that the history gets through one entry to the engine. */
interface Outcome {
  readonly decisions: readonly DecisionEvent['decision'][];
  /** The key and the cost of each charge. The mode may differ: RateLimiter peeks for cost 0, and a route takes 0. */
  readonly charges: [key: string, cost: number][][];
}

interface HttpOutcome extends Outcome {
  readonly replies: readonly Reply[];
}

type Options = RateLimitModuleOptions & RateLimitModuleExtras;

type Policies = [Policy, ...Policy[]];

/** The controller and the options that limit `GET /` by the policies. */
type HttpEntry = (policies: Policies) => { controller: Type; options: Options };

@Controller()
class Plain {
  @Get()
  get(): void {}
}

const byGuard: HttpEntry = (policies) => {
  @Controller()
  class Limited {
    @Get()
    @RateLimit(...policies)
    get(): void {}
  }
  return { controller: Limited, options: {} };
};

const byMiddleware: HttpEntry = (policies) => ({ controller: Plain, options: { middleware: policies } });

const costOf = ({ headers }: RateLimitRequest): number => Number(headers['x-cost']);

const APP_WIDE = { scope: 'app', cost: costOf } as const;

const BUCKET: Policy = { ...APP_WIDE, name: 'bucket', algorithm: 'token-bucket', capacity: 5, refill: '2/s' };
const QUEUE: Policy = { ...APP_WIDE, name: 'queue', algorithm: 'leaky-bucket', capacity: 4, drain: '1/2ms' };
const WINDOW: Policy = { ...APP_WIDE, name: 'window', algorithm: 'fixed-window', limit: 6, window: '3s' };
const LOG: Policy = { ...APP_WIDE, name: 'log', algorithm: 'sliding-window-log', limit: 5, window: '2s' };
const COUNTER: Policy = { ...APP_WIDE, name: 'counter', algorithm: 'sliding-window-counter', limit: 5, window: '2s' };
const GLOBAL: Policy = { ...WINDOW, name: 'global', by: 'global', limit: 20, window: '1m' };

const POLICIES: [string, Policies][] = [
  ['a leaky bucket', [QUEUE]],
  ['several policies', [BUCKET, WINDOW, LOG, COUNTER, QUEUE, GLOBAL]],
];

/** The requests of two users. Their costs reach from a peek to a cost that never fits. */
const HISTORY: readonly Request[] = Array.from({ length: 60 }, (_, i) => ({
  user: i % 3 === 0 ? 'bob' : 'ada',
  cost: [1, 1, 2, 1, 0, 3, 1, 1, 7][i % 9]!,
  afterMs: [0, 0, 0.001, 1, 250, 0, 0, 499.999, 0, 1000, 0][i % 11]!,
}));

function chargesOf({ asked }: StillStore): [key: string, cost: number][][] {
  return asked.map((charges) => charges.map(({ key, cost }) => [key, cost]));
}

/** Sends the history over HTTP. */
async function overHttp(app: HttpApp, store: StillStore, decided: readonly DecisionEvent[]): Promise<HttpOutcome> {
  const replies: Reply[] = [];
  for (const { user, cost, afterMs } of HISTORY) {
    store.advance(afterMs);
    replies.push(await app.as(user, '/', { headers: { 'X-Cost': String(cost) } }));
  }
  return { replies, decisions: decided.map(({ decision }) => decision), charges: chargesOf(store) };
}

/** Passes the history to `RateLimiter`. */
async function byLimiter(app: HttpApp, store: StillStore, policies: Policies): Promise<Outcome> {
  const limiter = app.app.get(RateLimiter);
  const decisions: Decision[] = [];
  for (const { user, cost, afterMs } of HISTORY) {
    store.advance(afterMs);
    decisions.push(await limiter.consume(policies, { kind: 'user', value: user }, { cost }));
  }
  return { decisions, charges: chargesOf(store) };
}

/** The status, Retry-After and body that a decision has over HTTP. */
function answerTo({ allowed, retryAfterMs }: DecisionEvent['decision']): unknown[] {
  if (allowed) return [200, undefined, undefined];
  const seconds = retryAfterMs === null ? null : Math.ceil(retryAfterMs / 1000);
  return [429, seconds === null ? undefined : String(seconds), { retry_after: seconds, retry_after_ms: retryAfterMs }];
}

function answerOf({ status, headers, body }: Reply): unknown[] {
  if (status === 200) return [200, headers['retry-after'], undefined];
  const { retry_after, retry_after_ms } = body as RateLimitExceededBody;
  return [status, headers['retry-after'], { retry_after, retry_after_ms }];
}

describe('guard, middleware and RateLimiter', () => {
  it.each(POLICIES)('decide the same history the same way, field by field, with %s', async (_, policies) => {
    const outcomes: HttpOutcome[] = [];
    for (const entry of [byGuard, byMiddleware]) {
      const store = new StillStore();
      const events: DecisionEvent[] = [];
      const { controller, options } = entry(policies);
      const onDecision = (event: DecisionEvent): void => void events.push(event);
      await using app = await limited('Express', controller, { ...options, store, identity: FROM_HEADERS, onDecision });
      outcomes.push(await overHttp(app, store, events));
    }
    const [guard, middleware] = outcomes as [HttpOutcome, HttpOutcome];
    const store = new StillStore();
    await using app = await limited('Express', Plain, { store });
    const limiter = await byLimiter(app, store, policies);

    for (const { decisions, charges } of [guard, middleware]) {
      expect(decisions).toEqual(limiter.decisions);
      expect(charges).toEqual(limiter.charges);
    }
    const [answers, sameAnswers] = [guard, middleware].map(({ replies }) =>
      replies.map(({ status, headers, text }) => [
        status,
        headers['retry-after'],
        headers['x-ratelimit-limit'],
        headers['x-ratelimit-remaining'],
        text,
      ]),
    );
    expect(sameAnswers).toEqual(answers);
    expect(guard.replies.map(answerOf)).toEqual(limiter.decisions.map(answerTo));
    // The history has requests that pass, requests that may retry later, and requests that never fit.
    const outcomesOfHistory = limiter.decisions.map(({ allowed, retryAfterMs }) =>
      allowed ? 'passed' : typeof retryAfterMs,
    );
    expect(new Set(outcomesOfHistory)).toEqual(new Set(['passed', 'number', 'object']));
  });
});
