import { describe, expect, it } from '@jest/globals';
import { RateLimiter, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { start } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { open, pass, POLICIES, turns } from './support/scheduled-calls.js';

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

  it.each(['result', 'error'])('holds its leases until what it still uses after its %s has ended', async (kind) => {
    await using opened = await open();
    const { limiter } = opened;
    const free = async (): Promise<number> => (await limiter.peek('slots')).policies[0]!.remaining;
    let end!: () => void;
    const used = new Promise<void>((resolve) => (end = resolve));
    const seen: unknown[] = [];
    const keep = (...given: unknown[]): Promise<void> => {
      seen.push(given);
      return used;
    };
    const error = new Error('broken');
    const call = limiter.schedule('slots', async () => (kind === 'result' ? 7 : Promise.reject(error)), {
      until: keep,
    });
    expect(await call.catch((thrown: unknown) => thrown)).toBe(kind === 'result' ? 7 : error);
    expect(seen).toEqual([kind === 'result' ? [7, undefined] : [undefined, error]]);
    expect(await free()).toBe(1);
    end();
    await turns();
    expect(await free()).toBe(2);
  });

  it('holds no lease where until fails, or returns no promise', async () => {
    await using opened = await open();
    const { limiter } = opened;
    const wrong = (): never => {
      throw new Error('wrong');
    };
    expect(await limiter.schedule('slots', () => 1, { until: wrong })).toBe(1);
    expect(await limiter.schedule('slots', () => 2, { until: () => undefined })).toBe(2);
    expect(await limiter.schedule('slots', () => 3, { until: async () => Promise.reject(new Error('late')) })).toBe(3);
    // oxlint-disable-next-line unicorn/no-thenable -- that of an application may throw
    expect(await limiter.schedule('slots', () => 3, { until: () => ({ then: wrong }) })).toBe(3);
    await turns();
    expect((await limiter.peek('slots')).policies[0]!.remaining).toBe(2);
    expect(limiter.stats().functionFailures.settle).toBe(1);
    await expect(limiter.schedule('slots', () => 4, { until: 5 as never })).rejects.toThrow(
      'RateLimiter.schedule: until must be a function of the result, got 5',
    );
  });

  it('keeps its lease while it waits for its slot, for longer than the lease, and gives both back where it leaves', async () => {
    const policies: RateLimitModuleOptions['policies'] = {
      one: { algorithm: 'concurrency', limit: 1, lease: '2s', by: 'global' },
      rare: { algorithm: 'leaky-bucket', capacity: 3, drain: '1/10s', by: 'global' },
    };
    await using opened = await open({ policies });
    const { call, clock, limiter, ran } = opened;
    void call('rare', 'first');
    void call(['one', 'rare'], 'both');
    await turns();
    void call('one', 'other');
    await pass(clock, 11_000);
    expect(ran).toEqual(['first@0', 'both@10', 'other@10']);
    const abort = new AbortController();
    void call(['one', 'rare'], 'leaves', { signal: abort.signal });
    await pass(clock, 5_000);
    expect((await limiter.peek('one')).policies[0]!.remaining).toBe(0);
    abort.abort();
    await turns();
    expect((await limiter.peek('one')).policies[0]!.remaining).toBe(1);
    expect((await limiter.peek('rare')).policies[0]!.delayMs).toBe(4_000);
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
});

describe('in Redis', () => {
  const redis = useRedis();

  it('a lease that is released reaches the next call at once, and an aborted call is refunded', async () => {
    const options: RateLimitModuleOptions = { redis: redis.server.url, policies: POLICIES, deadline: '10s' };
    await using app = await start('Express', { imports: [RateLimitModule.forRoot(options)] });
    const limiter = app.app.get(RateLimiter);
    let [running, most] = [0, 0];
    const work = async (): Promise<void> => {
      most = Math.max(most, ++running);
      await turns();
      running--;
    };
    await Promise.all(Array.from({ length: 60 }, async () => limiter.schedule('slots', work)));
    expect(most).toBe(2);
    expect(limiter.stats().requests).toBeLessThan(60 * 4);

    const abort = new AbortController();
    const gone = limiter.schedule('partner', () => 1, { signal: abort.signal });
    abort.abort();
    await expect(gone).rejects.toThrow('aborted');
    await until('it is refunded', 10_000, async () => (await limiter.peek('partner')).policies[0]!.remaining === 2);
  });

  it('leases behind an else are renewed, and their renewals leave other requests alone', async () => {
    const policies = {
      few: { algorithm: 'concurrency', limit: 1, lease: '1s', else: 'more' },
      more: { algorithm: 'concurrency', limit: 1, lease: '1s' },
      other: { algorithm: 'fixed-window', limit: 1_000_000, window: '300d' },
    } as const;
    const options: RateLimitModuleOptions = { redis: redis.server.url, policies, deadline: '10s' };
    await using app = await start('Express', { imports: [RateLimitModule.forRoot(options)] });
    const limiter = app.app.get(RateLimiter);
    const ada = { kind: 'user', value: 'ada' } as const;
    const held = [await limiter.acquire('few', ada), await limiter.acquire('few', ada)];
    expect(held.map(({ decision }) => decision.allowed)).toEqual([true, true]);
    // In Redis's own time: a lease is renewed four times within its length.
    for (const end = performance.now() + 1_500; performance.now() < end;) {
      const [third, another] = await Promise.all([limiter.acquire('few', ada), limiter.consume('other', ada)]);
      expect([third.decision.allowed, third.decision.decidedBy]).toEqual([false, 'store']);
      expect([another.allowed, another.decidedBy]).toEqual([true, 'store']);
    }
    for (const lease of held) lease.release();
  });
});
