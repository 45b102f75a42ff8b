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
