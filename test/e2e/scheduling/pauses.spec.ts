import { describe, expect, it } from '@jest/globals';
import { CallWaitError } from 'nestjs-floodgate';
import { open, pass, turns } from './support/scheduled-calls.js';

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

  it('goes on once an operator has removed its override, here as in the other processes', async () => {
    await using opened = await open();
    const { clock, call, limiter, ran, overrides } = opened;
    await limiter.pause('partner', null, { ms: 60_000 });
    void call('partner', 'a', { maxWaitMs: 100_000 });
    await pass(clock, 2_000);
    await expect(call('partner', 'b', { maxWaitMs: 3_000 })).rejects.toMatchObject({ retryAfterMs: 58_000 });
    expect(await overrides.remove({ policy: 'partner', scope: 'app' })).toBe(true);
    await turns();
    expect(ran).toEqual(['a@2']);
    expect(await limiter.schedule('partner', () => 'c', { maxWaitMs: 3_000 })).toBe('c');
  });

  it('stands in all classes until its override is removed', async () => {
    await using opened = await open();
    const { clock, call, limiter, ran, overrides } = opened;
    await limiter.pause('classed', null, { ms: 60_000 });
    void call('classed', 'low', { priority: 'low', maxWaitMs: 100_000 });
    void call('classed', 'high', { priority: 'high', maxWaitMs: 100_000 });
    await pass(clock, 2_000);
    expect(ran).toEqual([]);
    await overrides.remove({ policy: 'classed', scope: 'app' });
    await turns();
    expect(ran.toSorted()).toEqual(['high@2', 'low@2']);
  });

  it('keeps a longer pause that cannot be shared, beside a shorter one that is', async () => {
    await using opened = await open();
    const { clock, call, limiter, ran, overrides } = opened;
    const calls = overrides as unknown as { calls: { set: (...given: unknown[]) => Promise<unknown> } };
    const set = calls.calls.set.bind(calls.calls);
    let written = 0;
    calls.calls.set = (...given) => (written++ === 0 ? set(...given) : Promise.reject(new Error('gone')));
    const pauses = [5_000, 60_000].map((ms) => limiter.pause('partner', null, { ms }));
    expect(await Promise.all(pauses)).toEqual([true, false]);
    void call('partner', 'a', { maxWaitMs: 100_000 });
    await pass(clock, 30_000, 1_000);
    expect(ran).toEqual([]);
    await pass(clock, 31_000, 1_000);
    expect(ran).toEqual(['a@60']);
  });

  it("outlasts an operator's block of all scopes, which is removed before", async () => {
    await using opened = await open();
    const { clock, call, limiter, ran, overrides } = opened;
    await overrides.set({ policy: 'partner' }, { blocked: true });
    expect(await limiter.pause('partner', null, { ms: 60_000 })).toBe(true);
    void call('partner', 'a', { maxWaitMs: Infinity });
    await pass(clock, 2_000);
    await overrides.remove({ policy: 'partner' });
    await pass(clock, 50_000, 1_000);
    expect(ran).toEqual([]);
    await pass(clock, 10_000, 1_000);
    expect(ran).toEqual(['a@60']);
  });

  it('ends where its override is removed before the other policies of the call are paused', async () => {
    await using opened = await open();
    const { call, limiter, ran, overrides } = opened;
    const calls = overrides as unknown as { calls: { set: (...given: unknown[]) => Promise<unknown> } };
    const set = calls.calls.set.bind(calls.calls);
    let answer = (): void => undefined;
    calls.calls.set = async (...given) => {
      const { policy } = given[0] as { policy: string };
      if (policy === 'window') await new Promise<void>((resolve) => (answer = resolve));
      return set(...given);
    };
    const paused = limiter.pause(['partner', 'window'], null, { ms: 60_000 });
    await turns();
    expect(await overrides.remove({ policy: 'partner', scope: 'app' })).toBe(true);
    answer();
    expect(await paused).toBe(true);
    void call('partner', 'a');
    void call('window', 'b');
    await turns();
    expect(ran).toEqual(['a@0']);
  });

  it('ends for calls that wait for another policy as well, by else', async () => {
    const hourly = { algorithm: 'fixed-window', limit: 1, window: '1h', by: 'global' } as const;
    const policies = { own: { ...hourly, else: 'credits' }, credits: hourly };
    await using opened = await open({ policies });
    const { call, limiter, ran, overrides } = opened;
    for (const name of ['own', 'credits']) await limiter.consume(name);
    void call('own', 'a', { maxWaitMs: 7_200_000 });
    await turns();
    const calls = overrides as unknown as { calls: { set: (...given: unknown[]) => Promise<unknown> } };
    const { set } = calls.calls;
    calls.calls.set = () => Promise.reject(new Error('the answer is lost'));
    expect(await limiter.pause('own', null, { ms: 60_000 })).toBe(false);
    calls.calls.set = set.bind(calls.calls);
    await limiter.reset('credits');
    await turns();
    expect(ran).toEqual([]);
    await overrides.set({ policy: 'own', scope: 'app' }, { blocked: true }, { expiresIn: '10s' });
    expect(await overrides.remove({ policy: 'own', scope: 'app' })).toBe(true);
    await turns();
    expect(ran).toEqual(['a@0']);
    expect((await limiter.peek('credits')).policies[0]!.remaining).toBe(0);
  });

  it('is not paused again by a shorter pause', async () => {
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
    for (const name of ['b', 'c']) void call('partner', name, { maxWaitMs: Infinity });
    await expect(call('partner', 'd', { maxWaitMs: 3_600_000 })).rejects.toMatchObject({ retryAfterMs: 60_000 });
    await pass(clock, 10_000, 500);
    expect([ran, store.questions]).toEqual([[], 0]); // overrides are kept in the process
    await overrides.remove({ policy: 'partner' });
    await turns();
    expect(ran).toEqual(['b@10', 'c@10']);
  });
});
