import { describe, expect, it } from '@jest/globals';
import { MemoryStore, type Policy, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { Test } from '@nestjs/testing';
import { numbersOf, parametersOf, type PolicyState, stateOf } from './policy-state.js';

const ADA = { kind: 'user', value: 'ada' };
const MINUTE_MS = 60_000;
/** Half a minute into a window. */
const START_MS = Date.UTC(2024, 0, 1) + MINUTE_MS / 2;

/** Peeks at a policy like the page, while a client sends requests: the state at each instant. */
async function course(
  policy: Policy,
  steps: readonly { readonly afterMs: number; readonly requests: number }[],
): Promise<PolicyState[]> {
  let now = START_MS;
  const store = new MemoryStore({ clock: () => now * 1000 });
  const module = await Test.createTestingModule({ imports: [RateLimitModule.forRoot({ store })] }).compile();
  await using _ = { [Symbol.asyncDispose]: () => module.close() };
  const limiter = module.get(RateLimiter);
  const named = { ...policy, name: 'drawn' };
  const states: PolicyState[] = [];
  for (const { afterMs, requests } of steps) {
    now += afterMs;
    for (let i = 0; i < requests; i++) await limiter.consume(named, ADA);
    const { policies, decidedAtMs } = await limiter.peek(named, ADA);
    states.push(stateOf(parametersOf(named), policies[0]!, decidedAtMs, states.at(-1)));
  }
  return states;
}

describe('the state for the page', () => {
  it('of a token bucket is the instant when it is full again', async () => {
    const policy = { algorithm: 'token-bucket', capacity: 20, refill: 10 } as const;
    const course20 = await course(policy, [
      { afterMs: 0, requests: 0 },
      { afterMs: 0, requests: 5 },
      { afterMs: 200, requests: 0 },
      { afterMs: 300, requests: 0 },
    ]);
    expect(course20.map((state) => 'fullAt' in state && state.fullAt)).toEqual([0, START_MS + 500, START_MS + 500, 0]);
  });

  it('of a leaky bucket is the instant when its queue is empty', async () => {
    const policy = { algorithm: 'leaky-bucket', capacity: 100, drain: 10 } as const;
    const states = await course(policy, [
      { afterMs: 0, requests: 0 },
      { afterMs: 0, requests: 4 },
    ]);
    expect(states).toEqual([
      { algorithm: 'leaky-bucket', emptyAt: 0 },
      { algorithm: 'leaky-bucket', emptyAt: START_MS + 400 },
    ]);
  });

  it('of a fixed window is its count and its end', async () => {
    const policy = { algorithm: 'fixed-window', limit: 60, window: MINUTE_MS } as const;
    const states = await course(policy, [
      { afterMs: 0, requests: 7 },
      { afterMs: MINUTE_MS, requests: 1 },
    ]);
    expect(states).toEqual([
      { algorithm: 'fixed-window', used: 7, endsAt: START_MS + MINUTE_MS / 2 },
      { algorithm: 'fixed-window', used: 1, endsAt: START_MS + (3 * MINUTE_MS) / 2 },
    ]);
  });

  it('of a log is the marks of admitted requests, until they leave the window', async () => {
    const policy = { algorithm: 'sliding-window-log', limit: 5, window: MINUTE_MS } as const;
    const states = await course(policy, [
      { afterMs: 0, requests: 1 },
      { afterMs: 10_000, requests: 3 },
      { afterMs: 10_000, requests: 9 },
      { afterMs: 39_999, requests: 0 },
      { afterMs: 1, requests: 0 },
      { afterMs: 10_000, requests: 2 },
    ]);
    const marks = states.map((state) => 'marks' in state && state.marks.map((mark) => mark - START_MS));
    const [first, second, third] = [0, 10_000, 20_000];
    expect(marks).toEqual([
      [first],
      [first, second, second, second],
      [first, second, second, second, third],
      [first, second, second, second, third],
      [second, second, second, third],
      [third, 70_000, 70_000],
    ]);
  });

  it('of a counter is the counts of two windows', async () => {
    const policy = { algorithm: 'sliding-window-counter', limit: 30, window: MINUTE_MS } as const;
    const states = await course(policy, [
      { afterMs: 0, requests: 12 },
      { afterMs: 30_000, requests: 0 },
      { afterMs: 20_000, requests: 4 },
      { afterMs: 41_000, requests: 0 },
      { afterMs: 200_000, requests: 0 },
    ]);
    const counts = states.map((state) => 'current' in state && [state.previous, state.current]);
    expect(counts).toEqual([
      [0, 12],
      [12, 0],
      [12, 4],
      [4, 0],
      [0, 0],
    ]);
  });

  it('rejects parameters that the page cannot draw', () => {
    const window = { calendar: 'day', timeZone: 'Europe/Paris' } as const;
    expect(() => parametersOf({ algorithm: 'fixed-window', limit: 1, window })).toThrow(TypeError);
    expect(() => parametersOf({ algorithm: 'concurrency', limit: 1, lease: '1m' })).toThrow(TypeError);
    expect(numbersOf({ limit: 1, window })).toBeUndefined();
  });

  it.each([
    [
      { capacity: 5, refill: 2 },
      { limit: 5, perSecond: 2, windowMs: 0 },
    ],
    [
      { capacity: 5, refill: '600/m' },
      { limit: 5, perSecond: 10, windowMs: 0 },
    ],
    [
      { capacity: 5, drain: '1/500ms' },
      { limit: 5, perSecond: 2, windowMs: 0 },
    ],
    [
      { limit: 7, window: 250 },
      { limit: 7, perSecond: 0, windowMs: 250 },
    ],
    [
      { limit: 7, window: '24h' },
      { limit: 7, perSecond: 0, windowMs: 86_400_000 },
    ],
  ] as const)('draws the numbers %j of an override as numbers', (numbers, drawn) => {
    expect(numbersOf(numbers)).toEqual(drawn);
  });

  it('stays the same between looks without a request, whatever their instants are rounded to', () => {
    const bucket = { algorithm: 'token-bucket', limit: 20, windowMs: 0 } as const;
    const first = stateOf(bucket, { remaining: 10, resetAfterMs: 900.4 }, 1000, undefined);
    expect(stateOf(bucket, { remaining: 10, resetAfterMs: 800.4 }, 1101, first)).toEqual(first);
    expect(stateOf(bucket, { remaining: 9, resetAfterMs: 900.4 }, 1101, first)).not.toEqual(first);
  });
});
