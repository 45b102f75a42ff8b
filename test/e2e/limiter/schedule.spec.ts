import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  CallQueueFullError,
  CallWaitError,
  type Charge,
  type ChargeReceipt,
  type ChargeSettlement,
  type Clock,
  type Identity,
  LimiterClosedError,
  LimiterUnavailableError,
  type Policy,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimitOverrides,
  type RateLimitStore,
  type SettledCharge,
  type Timer,
  type Verdict,
} from 'nestjs-floodgate';
import { VirtualClock, VirtualStore } from 'nestjs-floodgate/testing';
import { until } from '../../support/faults/until.js';
import { start } from '../../support/http-app.js';
import { histories, HISTORY_TIMEOUT_MS } from '../../support/property-runs.js';
import { useRedis } from '../../support/redis-fixture.js';
import { RateLimitRuntime } from '../../support/runtime.js';

const POLICIES = {
  partner: { algorithm: 'token-bucket', capacity: 2, refill: 1, by: 'global' },
  window: { algorithm: 'fixed-window', limit: 100, window: '1m', by: 'global' },
  even: { algorithm: 'leaky-bucket', capacity: 3, drain: 1, by: 'global' },
  slots: { algorithm: 'concurrency', limit: 2, lease: '30s', by: 'global' },
  tokens: { algorithm: 'token-bucket', capacity: 1_000, refill: '1/h', by: 'global' },
  priced: {
    algorithm: 'token-bucket',
    capacity: 1_000,
    refill: '1/h',
    by: 'global',
    cost: 100,
    settle: ({ value, error }) => (error === undefined ? (value as number) : 0),
  },
  user: { algorithm: 'token-bucket', capacity: 2, refill: 1, by: 'user' },
  classed: {
    algorithm: 'token-bucket',
    capacity: 4,
    refill: 1,
    by: 'global',
    priorities: { high: 1, low: 0.5 },
  },
} as const satisfies Record<string, Policy>;
const ADA: Identity = { kind: 'user', value: 'ada' };
const BOB: Identity = { kind: 'user', value: 'bob' };

/** A store on a virtual clock that counts its questions, and whose answers a test can hold back. */
class AskedStore implements RateLimitStore {
  questions = 0;
  fails = false;
  readonly supports = ['shadow', 'block', 'headroom'] as const;
  readonly timer: Timer;
  readonly clock: Clock;
  private readonly inner: VirtualStore;
  private held: (() => void)[] | undefined;

  constructor(clock: VirtualClock) {
    this.inner = new VirtualStore(clock);
    this.timer = clock.timer;
    this.clock = clock.read;
  }

  consume(charges: readonly Charge[]): Verdict | Promise<Verdict> {
    if (charges.some(({ mode }) => mode !== 'peek')) this.questions++;
    if (this.fails) throw new Error('gone');
    const verdict = this.inner.consume(charges);
    const { held } = this;
    return held === undefined ? verdict : new Promise<Verdict>((resolve) => held.push(() => resolve(verdict)));
  }

  reset(keys: readonly string[]): void {
    this.inner.reset(keys);
  }

  refund(receipts: readonly ChargeReceipt[]): void {
    this.inner.refund(receipts);
  }

  settle(settlements: readonly ChargeSettlement[]): readonly SettledCharge[] {
    return this.inner.settle(settlements);
  }

  hold(): void {
    this.held = [];
  }

  release(): void {
    for (const answer of this.held?.splice(0) ?? []) answer();
    this.held = undefined;
  }
}

interface Opened extends AsyncDisposable {
  readonly limiter: RateLimiter;
  readonly overrides: RateLimitOverrides;
  readonly clock: VirtualClock;
  readonly store: AskedStore;
  readonly runtime: RateLimitRuntime;
  readonly close: () => Promise<void>;
  /** Schedules a call that notes when it runs. */
  readonly call: (
    policy: string | readonly string[],
    name: string,
    options?: object,
    who?: Identity,
  ) => Promise<string>;
  /** What ran, with the seconds at which it did. */
  readonly ran: string[];
}

async function open(options: RateLimitModuleOptions = {}): Promise<Opened> {
  const clock = new VirtualClock();
  const store = new AskedStore(clock);
  const app = await start('Express', {
    imports: [RateLimitModule.forRoot({ policies: POLICIES, denialCache: 0, ...options, store })],
  });
  const limiter = app.app.get(RateLimiter);
  const ran: string[] = [];
  const since = clock.nowMs;
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (isOpen) await app[Symbol.asyncDispose]();
    isOpen = false;
  };
  return {
    limiter,
    overrides: app.app.get(RateLimitOverrides),
    clock,
    store,
    runtime: app.app.get(RateLimitRuntime),
    ran,
    close,
    call: (policy, name, more = {}, who) => {
      const run = (): string => {
        ran.push(`${name}@${(clock.nowMs - since) / 1000}`);
        return name;
      };
      const called = limiter.schedule(policy, who ?? null, run, more);
      called.catch(() => undefined); // the test looks at it later
      return called;
    },
    [Symbol.asyncDispose]: close,
  };
}

/** Lets everything run that is due. */
async function turns(count = 4): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Advances the clock in steps, as time passes. */
async function pass(clock: VirtualClock, ms: number, step = 100): Promise<void> {
  for (let passed = 0; passed < ms; passed += step) {
    clock.advance(Math.min(step, ms - passed));
    await turns();
  }
}

describe('RateLimiter.schedule', () => {
  it('runs a call with room at once, and passes on what it returns or throws', async () => {
    await using opened = await open();
    const { limiter, store } = opened;
    expect(await limiter.schedule('partner', () => 7)).toBe(7);
    await expect(limiter.schedule('partner', null, async () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(store.questions).toBe(2);
    // The call that failed may have reached the partner: its charge stays.
    expect((await limiter.peek('partner')).policies[0]!.remaining).toBe(0);
    const room = limiter.schedule('user', ADA, () => 'ran');
    expect(store.questions).toBe(3);
    expect(await room).toBe('ran');
    expect(await limiter.schedule('user', ADA, () => 'again')).toBe('again');
  });

  it('runs the calls of a policy in their order, each as soon as it fits', async () => {
    await using opened = await open();
    const { clock, call, ran } = opened;
    const calls = ['a', 'b', 'c', 'd', 'e'].map(async (name) => call('partner', name));
    await pass(clock, 3_000);
    await Promise.all(calls);
    expect(ran).toEqual(['a@0', 'b@0', 'c@1', 'd@2', 'e@3']);
  });

  it('lets calls of one user wait without those of another one', async () => {
    await using opened = await open();
    const { clock, call, ran } = opened;
    for (const name of ['a', 'b', 'c', 'd']) void call('user', name, {}, ADA);
    void call('user', 'e', {}, BOB);
    await pass(clock, 2_000);
    expect(ran).toEqual(['a@0', 'b@0', 'e@0', 'c@1', 'd@2']);
  });

  it('asks the store as the first of those that wait, and not as a herd', async () => {
    await using opened = await open();
    const { clock, call, ran, store } = opened;
    for (let i = 0; i < 3; i++) void call('partner', `first ${i}`);
    await turns();
    expect(store.questions).toBe(3);
    for (let i = 0; i < 500; i++) void call('partner', `${i}`, { maxWaitMs: Infinity });
    await turns();
    expect(store.questions).toBe(3); // those behind a call that waits ask nothing
    await pass(clock, 20_000);
    expect(ran).toHaveLength(2 + 20);
    // Each second one call passes, and the next one learns that it has to wait.
    expect(store.questions).toBeLessThanOrEqual(3 + 2 * 20 + 2);
  });

  it('takes what a new window has in a few rounds, and asks no more than twice for each call', async () => {
    await using opened = await open();
    const { clock, call, ran, store } = opened;
    for (let i = 0; i < 350; i++) void call('window', `${i}`, { maxWaitMs: 300_000 });
    await turns();
    expect(ran).toHaveLength(100);
    await pass(clock, 60_000, 10_000);
    expect(ran).toHaveLength(200);
    await pass(clock, 120_000, 10_000);
    expect(ran.map((one) => one.split('@')[0])).toEqual(Array.from({ length: 350 }, (_, i) => `${i}`));
    expect(ran.map((one) => Number(one.split('@')[1]) / 60)).toEqual(
      Array.from({ length: 350 }, (_, i) => Math.floor(i / 100)),
    );
    expect(store.questions).toBeLessThan(2 * 350);
  });

  it('does not let a cheap call overtake a dear one that waits', async () => {
    await using opened = await open();
    const { clock, call, ran } = opened;
    void call('partner', 'a');
    void call('partner', 'dear', { cost: 2 });
    void call('partner', 'cheap');
    await pass(clock, 3_000);
    expect(ran).toEqual(['a@0', 'dear@1', 'cheap@2']);
  });

  it('tells a cost that never fits at once, also behind others', async () => {
    await using opened = await open();
    const { call, store } = opened;
    for (let i = 0; i < 4; i++) void call('partner', `${i}`);
    const asked = store.questions;
    await expect(call('partner', 'x', { cost: 3 })).rejects.toThrow(RangeError);
    await expect(call('partner', 'x', { cost: 3 })).rejects.toThrow("cost 3 never fits policy 'partner', which lets 2");
    expect(store.questions).toBe(asked);
  });

  it('does not hold up calls of a higher priority behind those of a lower one', async () => {
    await using opened = await open();
    const { clock, call, limiter, ran } = opened;
    await limiter.consume('classed', null, { cost: 3, priority: 'high' });
    void call('classed', 'low 1', { priority: 'low' });
    void call('classed', 'low 2', { priority: 'low' });
    void call('classed', 'high', { priority: 'high' });
    await turns();
    expect(ran).toEqual(['high@0']);
    await pass(clock, 5_000);
    expect(ran).toEqual(['high@0', 'low 1@3', 'low 2@4']);
    await limiter.pause('classed', null, { ms: 2_000 });
    void call('classed', 'low 3', { priority: 'low' });
    void call('classed', 'high 2', { priority: 'high' });
    await pass(clock, 1_900);
    expect(ran).toHaveLength(3);
    await pass(clock, 2_000);
    expect(ran).toHaveLength(5);
  });

  it('moves a call to the policy that lets it wait for longest, and keeps the order there', async () => {
    await using opened = await open();
    const { clock, call, ran } = opened;
    const both = ['user', 'partner'];
    void call(both, 'ada 1', {}, ADA);
    void call(both, 'ada 2', {}, ADA);
    void call(both, 'ada 3', {}, ADA); // waits under both
    void call(both, 'bob 1', {}, BOB); // waits for the partner
    void call('partner', 'other');
    await pass(clock, 4_000);
    expect(ran.toSorted()).toEqual(['ada 1@0', 'ada 2@0', 'ada 3@1', 'bob 1@2', 'other@3']);
  });
});

describe('a call that leaves the queue', () => {
  it('rejects with the reason of its signal, is not charged, and lets the others on', async () => {
    await using opened = await open();
    const { clock, call, ran } = opened;
    const abort = new AbortController();
    for (const name of ['a', 'b']) void call('partner', name);
    const gone = call('partner', 'gone', { signal: abort.signal });
    const last = call('partner', 'last');
    await turns();
    const reason = new Error('changed my mind');
    abort.abort(reason);
    await expect(gone).rejects.toBe(reason);
    await pass(clock, 1_000);
    await last;
    expect(ran).toEqual(['a@0', 'b@0', 'last@1']);
    await expect(call('partner', 'late', { signal: abort.signal })).rejects.toBe(reason);
  });

  it('is refunded when the store answers after it has left', async () => {
    await using opened = await open();
    const { call, limiter, ran, store } = opened;
    const abort = new AbortController();
    store.hold();
    const calls = [call('partner', 'gone', { signal: abort.signal }), call('tokens', 'late', { maxWaitMs: 20 })];
    await turns();
    abort.abort();
    await expect(calls[0]).rejects.toThrow('aborted');
    store.release();
    await turns();
    expect(ran).toEqual(['late@0']);
    expect((await limiter.peek('partner')).policies[0]!.remaining).toBe(2);
  });

  it('lets the next one on at once where that one needs less', async () => {
    await using opened = await open();
    const { clock, call, ran } = opened;
    const abort = new AbortController();
    void call('partner', 'a');
    void call('partner', 'dear', { cost: 2, signal: abort.signal });
    void call('partner', 'cheap');
    await turns();
    abort.abort();
    await turns();
    expect(ran).toEqual(['a@0', 'cheap@0']);
    await pass(clock, 100);
  });

  it('rejects at once where its time is certain not to suffice, and says when to come again', async () => {
    await using opened = await open();
    const { clock, call } = opened;
    for (const name of ['a', 'b']) void call('partner', name);
    const error = await call('partner', 'c', { maxWaitMs: 1_000 }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CallWaitError);
    expect(error).toBeInstanceOf(LimiterUnavailableError); // a 503 in a route
    expect(error).toMatchObject({ code: 'FG_CALL_WAIT', retryAfterMs: 1_000 });
    const waits = call('partner', 'd', { maxWaitMs: 1_001 });
    // It is the second one that waits, which nobody can know.
    const late = call('partner', 'e', { maxWaitMs: 1_500 });
    const none = call('partner', 'f', { maxWaitMs: 0 });
    await expect(none).rejects.toThrow(CallWaitError);
    await pass(clock, 1_500);
    expect(await waits).toBe('d');
    await expect(late).rejects.toThrow("no turn under 'partner' within maxWaitMs, which is 1500");
    expect(clock.waiting).toBe(0);
  });

  it('rejects when the application shuts down, and leaves no timer', async () => {
    await using opened = await open();
    const { clock, call, close, limiter, runtime } = opened;
    const calls = Array.from({ length: 5 }, async (_, i) => call('partner', `${i}`));
    const slots = Array.from({ length: 3 }, async (_, i) => call('even', `${i}`));
    await turns();
    expect(runtime.calls.size).toBe(5);
    await close();
    for (const waiting of [...calls.slice(2), ...slots.slice(1)])
      await expect(waiting).rejects.toThrow(LimiterClosedError);
    expect([runtime.calls.size, clock.waiting]).toEqual([0, 0]);
    await expect(limiter.schedule('partner', () => 1)).rejects.toThrow(LimiterClosedError);
  });

  it('does not get in where maxQueuedCalls wait', async () => {
    await using opened = await open({ maxQueuedCalls: 3 });
    const { call, runtime, store, clock } = opened;
    for (let i = 0; i < 5; i++) void call('partner', `${i}`);
    const asked = store.questions;
    const error = await call('partner', 'x').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CallQueueFullError);
    expect(String(error)).toContain('3 calls wait for their turn, which is maxQueuedCalls');
    expect([store.questions, runtime.calls.size]).toEqual([asked, 3]);
    await pass(clock, 1_000);
    void call('partner', 'y', { maxWaitMs: 5_000 });
    expect(runtime.calls.size).toBe(3);
  });
});

describe('a call under a leaky bucket', () => {
  it('waits for its own slot', async () => {
    await using opened = await open();
    const { clock, call, ran } = opened;
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) void call('even', name);
    await pass(clock, 5_000);
    expect(ran).toEqual(['a@0', 'b@1', 'c@2', 'd@3', 'e@4', 'f@5']);
  });

  it('frees its slot when it leaves, and is refunded where its slot comes too late', async () => {
    await using opened = await open();
    const { clock, call, ran } = opened;
    const abort = new AbortController();
    void call('even', 'a');
    void call('even', 'gone', { signal: abort.signal }).catch(() => undefined);
    await turns();
    abort.abort();
    await turns();
    void call('even', 'b');
    await expect(call('even', 'late', { maxWaitMs: 1_500 })).rejects.toMatchObject({ retryAfterMs: 500 });
    await turns();
    void call('even', 'c');
    await pass(clock, 2_000);
    expect(ran).toEqual(['a@0', 'b@1', 'c@2']);
  });
});

describe('a call that holds a lease, or is settled', () => {
  it('frees the concurrency when it ends, also by an error, and the next one runs at once', async () => {
    await using opened = await open();
    const { limiter, store, clock } = opened;
    const ends: ((error?: Error) => void)[] = [];
    const held = (): Promise<void> =>
      new Promise((resolve, reject) => ends.push((error) => (error === undefined ? resolve() : reject(error))));
    const calls = Array.from({ length: 4 }, async () => limiter.schedule('slots', held));
    for (const one of calls) one.catch(() => undefined);
    await turns();
    expect(ends).toHaveLength(2);
    ends[0]!(new Error('broken'));
    await expect(calls[0]).rejects.toThrow('broken');
    await turns();
    expect(ends).toHaveLength(3); // without any time
    ends[1]!();
    await turns();
    expect(ends).toHaveLength(4);
    ends[2]!();
    ends[3]!();
    await Promise.all(calls.slice(1));
    expect((await limiter.peek('slots')).policies[0]!.remaining).toBe(2);
    expect(store.questions).toBeLessThan(12);
    await pass(clock, 60_000, 10_000);
    expect((await limiter.peek('slots')).policies[0]!.remaining).toBe(2);
  });

  it('settles the cost of its result', async () => {
    await using opened = await open();
    const { limiter } = opened;
    const left = async (): Promise<number> => (await limiter.peek('tokens')).policies[0]!.remaining;
    const cost = ({ usage }: { usage: number }): number => usage;
    const seen: number[] = [];
    const work = async (): Promise<{ usage: number }> => {
      seen.push(await left());
      return { usage: 30 };
    };
    expect(await limiter.schedule('tokens', work, { cost, estimate: 400 })).toEqual({ usage: 30 });
    await turns();
    expect([...seen, await left()]).toEqual([600, 970]);
    // The estimate stays where the call, or its cost, fails.
    const fails = async (): Promise<{ usage: number }> => Promise.reject(new Error('no'));
    await expect(limiter.schedule('tokens', fails, { cost, estimate: 70 })).rejects.toThrow('no');
    const wrong = (): number => {
      throw new Error('wrong');
    };
    expect(await limiter.schedule('tokens', () => 'kept', { cost: wrong, estimate: 100 })).toBe('kept');
    await turns();
    expect(await left()).toBe(800);
  });

  it("settles by the policy's own settle", async () => {
    await using opened = await open();
    const { limiter } = opened;
    expect(await limiter.schedule('priced', () => 40)).toBe(40);
    await expect(limiter.schedule('priced', async () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await turns();
    expect((await limiter.peek('priced')).policies[0]!.remaining).toBe(960);
  });

  it('holds one lease beside the tokens that it costs', async () => {
    await using opened = await open();
    const { limiter } = opened;
    const seen = await limiter.schedule(
      ['slots', 'tokens'],
      async () => (await limiter.peek(['slots', 'tokens'])).policies.map(({ remaining }) => remaining),
      { cost: () => 10, estimate: 500 },
    );
    await turns();
    const after = (await limiter.peek(['slots', 'tokens'])).policies.map(({ remaining }) => remaining);
    expect([seen, after]).toEqual([
      [1, 500],
      [2, 990],
    ]);
  });
});

describe('in Redis', () => {
  const redis = useRedis();

  it('a lease that is released reaches the next call at once, and an aborted call is refunded', async () => {
    const options: RateLimitModuleOptions = { redis: redis.server.url, policies: POLICIES, deadline: '2s' };
    await using app = await start('Express', { imports: [RateLimitModule.forRoot(options)] });
    const limiter = app.app.get(RateLimiter);
    const since = performance.now();
    let [running, most] = [0, 0];
    const work = async (): Promise<void> => {
      most = Math.max(most, ++running);
      await turns();
      running--;
    };
    await Promise.all(Array.from({ length: 60 }, async () => limiter.schedule('slots', work)));
    expect(most).toBe(2);
    // Without a wake-up each pair would wait for 25 ms or more.
    expect(performance.now() - since).toBeLessThan(2_000);
    expect(limiter.stats().requests).toBeLessThan(60 * 4);

    const abort = new AbortController();
    const gone = limiter.schedule('partner', () => 1, { signal: abort.signal });
    abort.abort();
    await expect(gone).rejects.toThrow('aborted');
    await until('it is refunded', 2_000, async () => (await limiter.peek('partner')).policies[0]!.remaining === 2);
  });
});

describe('a policy that is paused', () => {
  it('lets no call pass until its end, and then goes on in the order', async () => {
    await using opened = await open();
    const { clock, call, limiter, ran, overrides } = opened;
    expect(await limiter.pause('partner', null, { ms: 5_000, reason: 'the partner said 429' })).toBe(true);
    void call('partner', 'a');
    void call('partner', 'b');
    await expect(call('partner', 'short', { maxWaitMs: 4_000 })).rejects.toMatchObject({ retryAfterMs: 5_000 });
    expect((await limiter.consume('partner')).allowed).toBe(false);
    await pass(clock, 4_900);
    expect(ran).toEqual([]);
    await pass(clock, 200);
    expect(ran).toEqual(['a@5', 'b@5']);
    const { items } = await overrides.history();
    expect(items).toEqual([
      expect.objectContaining({
        policy: 'partner',
        scope: 'app',
        author: 'RateLimiter.pause',
        reason: 'the partner said 429',
      }),
    ]);
  });

  it('is not paused again by a shorter pause, and an end that is removed lets the calls on', async () => {
    await using opened = await open();
    const { clock, call, limiter, ran, overrides, runtime } = opened;
    await limiter.pause('partner', null, { ms: 60_000 });
    await limiter.pause('partner', null, { ms: 2_000 });
    expect((await overrides.history()).items).toHaveLength(1);
    void call('partner', 'a', { maxWaitMs: 100_000 });
    await pass(clock, 3_000);
    expect([ran, runtime.calls.size]).toEqual([[], 1]);
    await pass(clock, 60_000, 1_000);
    expect(ran).toEqual(['a@60']);
  });

  it("leaves an operator's override behind the pause, and does not replace one of the same scope", async () => {
    await using opened = await open();
    const { clock, limiter, overrides } = opened;
    await overrides.set({ policy: 'partner' }, { capacity: 10 });
    expect(await limiter.pause('partner', null, { ms: 2_000 })).toBe(true);
    await pass(clock, 2_000);
    expect((await limiter.peek('partner')).policies[0]!.limit).toBe(10);
    await overrides.set({ policy: 'partner', scope: 'app' }, { capacity: 20 });
    expect(await limiter.pause('partner', null, { ms: 2_000 })).toBe(false);
    expect((await limiter.peek('partner')).policies[0]!.limit).toBe(20);
    const error = await limiter.schedule('partner', () => 1, { maxWaitMs: 1_000 }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CallWaitError); // this process pauses all the same
  });

  it('waits out the block of an operator that has no end, or rejects at once', async () => {
    await using opened = await open();
    const { clock, call, ran, overrides, store } = opened;
    await overrides.set({ policy: 'partner' }, { blocked: true });
    await expect(call('partner', 'a')).rejects.toThrow(CallWaitError);
    void call('partner', 'b', { maxWaitMs: Infinity });
    await pass(clock, 10_000, 500);
    expect([ran, store.questions]).toEqual([[], 0]); // overrides are kept in the process
    await overrides.remove({ policy: 'partner' });
    await pass(clock, 1_000);
    expect(ran).toHaveLength(1);
  });
});

describe('without the store', () => {
  it("goes on with the process's share", async () => {
    await using opened = await open({ localShare: 2 });
    const { call, store, ran } = opened;
    store.fails = true;
    void call('window', 'a');
    for (let i = 0; i < 60; i++) void call('window', `${i}`);
    await turns();
    expect(ran).toHaveLength(50);
  });

  it("waits no longer than maxWaitMs where the policy says 'closed', and names the failure", async () => {
    await using opened = await open({ onStoreFailure: 'closed' });
    const { clock, call, store, ran } = opened;
    store.fails = true;
    const lost = call('window', 'lost', { maxWaitMs: 2_000 });
    const kept = call('window', 'kept', { maxWaitMs: 60_000 });
    await expect(call('window', 'now', { maxWaitMs: 0 })).rejects.toThrow(LimiterUnavailableError);
    await pass(clock, 2_000);
    const error = await lost.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CallWaitError);
    expect((error as Error).cause).toBeInstanceOf(LimiterUnavailableError);
    store.fails = false;
    await pass(clock, 2_000);
    expect(await kept).toBe('kept');
    expect(ran).toHaveLength(1);
  });
});

it.each<[readonly unknown[], string]>([
  [['partner'], 'fn must be a function, got undefined'],
  [['partner', null, 7], 'fn must be a function, got 7'],
  [['partner', () => 1, { cost: 0 }], 'cost must be a whole number from 1, or a function of the result, got 0'],
  [['partner', () => 1, { cost: 1.5 }], 'cost must be a whole number from 1'],
  [['partner', () => 1, { estimate: 5 }], 'estimate has no effect without a cost that is a function'],
  [['partner', () => 1, { cost: () => 1, estimate: 0 }], 'estimate must be a whole number from 1, got 0'],
  [['partner', () => 1, { maxWaitMs: -1 }], 'maxWaitMs must be milliseconds from 0, or Infinity, got -1'],
  [['partner', () => 1, { maxWaitMs: '5s' }], "maxWaitMs must be milliseconds from 0, or Infinity, got '5s'"],
  [['partner', () => 1, { signal: {} }], 'signal must be an AbortSignal, got an object'],
  [['partner', () => 1, { maxwait: 1 }], "'maxwait' is not an option of RateLimiter.schedule"],
  [['user', () => 1], "policy 'user' counts an identity"],
  [['slots', () => 1, { cost: () => 1 }], "'slots' has leases, which are released"],
  [['nobody', () => 1], "there is no policy named 'nobody'"],
])('tells what is wrong with schedule(%j)', async (args, problem) => {
  await using opened = await open();
  const { limiter, store } = opened;
  const schedule = limiter.schedule.bind(limiter) as (...given: readonly unknown[]) => Promise<unknown>;
  await expect(schedule(...args)).rejects.toThrow(problem);
  expect(store.questions).toBe(0);
});

it(
  'admits what the bucket has, in the order of the calls, whatever leaves meanwhile',
  async () => {
    const arrivals = fc.array(
      fc.record({
        afterMs: fc.integer({ min: 0, max: 700 }),
        cost: fc.integer({ min: 1, max: 2 }),
        abortsAfterMs: fc.option(fc.integer({ min: 0, max: 3_000 }), { nil: undefined }),
        maxWaitMs: fc.constantFrom(0, 500, 2_500, Infinity),
      }),
      { minLength: 1, maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(arrivals, async (calls) => {
        await using opened = await open();
        const { clock, limiter } = opened;
        const ran: { i: number; at: number; cost: number }[] = [];
        const since = clock.nowMs;
        const aborts: { at: number; abort: AbortController }[] = [];
        const results: Promise<unknown>[] = [];
        let next = 0;
        let due = calls[0]!.afterMs;
        for (let at = 0; at < 30_000; at += 100) {
          while (next < calls.length && due <= at) {
            const i = next++;
            const { cost, abortsAfterMs, maxWaitMs } = calls[i]!;
            const abort = new AbortController();
            if (abortsAfterMs !== undefined) aborts.push({ at: at + abortsAfterMs, abort });
            const run = (): void => void ran.push({ i, at: clock.nowMs - since, cost });
            const result = limiter.schedule('partner', run, { cost, maxWaitMs, signal: abort.signal });
            results.push(result.catch((error: unknown) => error));
            due += calls[next]?.afterMs ?? 0;
          }
          for (const one of aborts) if (one.at <= at) one.abort.abort();
          await turns(2);
          clock.advance(100);
          await turns(2);
        }
        await Promise.all(results);
        expect(ran.map(({ i }) => i)).toEqual(ran.map(({ i }) => i).toSorted((a, b) => a - b));
        for (let from = 0; from < ran.length; from++) {
          let sum = 0;
          for (let to = from; to < ran.length; to++) {
            sum += ran[to]!.cost;
            expect(sum).toBeLessThanOrEqual(2 + (ran[to]!.at - ran[from]!.at) / 1000);
          }
        }
        expect(opened.runtime.calls.size).toBe(0);
        expect(clock.waiting).toBe(0);
      }),
      histories(0.6),
    );
  },
  HISTORY_TIMEOUT_MS,
);
