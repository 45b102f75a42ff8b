import { describe, expect, it } from '@jest/globals';
import { RateLimitConfigError } from 'nestjs-floodgate';
import { ADA, BOB, open, pass, turns } from './support/scheduled-calls.js';

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
    for (let i = 0; i < 500; i++) void call('partner', `${i}`, { maxWait: Infinity });
    await turns();
    expect(store.questions).toBe(3); // those behind a call that waits ask nothing
    await pass(clock, 20_000);
    expect(ran).toHaveLength(2 + 20);
    // Each second one call passes, and the next one learns that it has to wait.
    expect(store.questions).toBeLessThanOrEqual(3 + 2 * 20 + 2);
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

  it('does not let a cheap call overtake a dear one that another of their policies holds up', async () => {
    const policies = {
      requests: { algorithm: 'token-bucket', capacity: 1, refill: 1, by: 'global' },
      tokens: { algorithm: 'token-bucket', capacity: 8, refill: 1, by: 'global' },
    } as const;
    await using opened = await open({ policies });
    const { clock, call, ran } = opened;
    const pair = ['requests', 'tokens'];
    // All of them wait for a request. Once it is there, the dear one lacks tokens, and the cheap ones would not.
    for (const name of ['a', 'b']) void call(pair, name, { cost: { tokens: 3 } });
    void call(pair, 'dear', { cost: { tokens: 8 } });
    for (const name of ['c', 'd']) void call(pair, name, { cost: { tokens: 1 } });
    await pass(clock, 30_000);
    expect(ran).toEqual(['a@0', 'b@1', 'dear@6', 'c@7', 'd@8']);
  });

  it('tells a cost that never fits at once, also behind others', async () => {
    await using opened = await open();
    const { call, store } = opened;
    for (let i = 0; i < 4; i++) void call('partner', `${i}`);
    const asked = store.questions;
    await expect(call('partner', 'x', { cost: 3 })).rejects.toThrow(RateLimitConfigError);
    await expect(call('partner', 'x', { cost: 3 })).rejects.toThrow("cost 3 never fits policy 'partner', which lets 2");
    expect(store.questions).toBe(asked);
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
});
