import { describe, expect, it, jest } from '@jest/globals';
import { CallWaitError, MemoryStore, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { Logger } from '@nestjs/common';
import { VirtualClock } from 'nestjs-floodgate/testing';
import { start } from '../../support/http-app.js';
import { ADA, BOB, open, pass, POLICIES, turns } from './support/scheduled-calls.js';

describe('a policy that is paused', () => {
  it('lets no call pass until its end, and then goes on in the order', async () => {
    await using opened = await open();
    const { clock, call, limiter, ran, overrides } = opened;
    expect(await limiter.pause('partner', null, { for: 5_000 })).toBe(true);
    expect((await overrides.history()).items).toEqual([]); // it is none of the operators'
    void call('partner', 'a');
    void call('partner', 'b');
    await expect(call('partner', 'short', { maxWait: 4_000 })).rejects.toMatchObject({ retryAfterMs: 5_000 });
    await pass(clock, 4_900);
    expect(ran).toEqual([]);
    await pass(clock, 200);
    expect(ran).toEqual(['a@5', 'b@5']);
  });

  it('goes on once it was reset, and says until when it waits', async () => {
    await using opened = await open();
    const { clock, call, limiter, ran } = opened;
    await limiter.pause('partner', null, { for: 60_000 });
    void call('partner', 'a', { maxWait: 100_000 });
    await pass(clock, 2_000);
    await expect(call('partner', 'b', { maxWait: 3_000 })).rejects.toMatchObject({ retryAfterMs: 58_000 });
    const { at, policies } = await limiter.explain('partner', null);
    expect(Date.parse(policies[0]!.pausedUntil!) - Date.parse(at)).toBe(58_000);
    await limiter.reset('partner', null);
    await turns();
    expect(ran).toEqual(['a@2']);
    expect(await limiter.schedule('partner', () => 'c', { maxWait: 3_000 })).toBe('c');
    expect((await limiter.explain('partner', null)).policies).toMatchObject([{ pausedUntil: null }]);
  });

  it('stops no other call than those that wait, and no other identity and policy', async () => {
    await using opened = await open();
    const { call, limiter } = opened;
    await limiter.pause('user', ADA, { for: 60_000 });
    expect(await call('user', 'bob', { maxWait: 0 }, BOB)).toBe('bob');
    expect((await limiter.consume('user', ADA)).allowed).toBe(true);
    await expect(call(['partner', 'user'], 'both', { maxWait: 0 }, ADA)).rejects.toThrow(CallWaitError);
    expect((await limiter.peek('partner')).policies[0]!.remaining).toBe(2);
    expect(await call('partner', 'alone', { maxWait: 0 })).toBe('alone');
  });

  it('is paused for as long as the longest pause says', async () => {
    await using opened = await open();
    const { clock, call, limiter } = opened;
    const pauses = [3_000, 5_000, 1_000, 5_000].map(async (ms) => limiter.pause('partner', null, { for: ms }));
    expect(await Promise.all(pauses)).toEqual([true, true, true, true]);
    await expect(call('partner', 'a', { maxWait: 0 })).rejects.toMatchObject({ retryAfterMs: 5_000 });
    await pass(clock, 2_000);
    await limiter.pause('partner', null, { for: 2_000 });
    await expect(call('partner', 'b', { maxWait: 0 })).rejects.toMatchObject({ retryAfterMs: 3_000 });
    await limiter.pause('partner', null, { for: 4_000 });
    await expect(call('partner', 'c', { maxWait: 0 })).rejects.toMatchObject({ retryAfterMs: 4_000 });
  });

  it('stays paused while the store does not answer, here as in a process that has only met the pause', async () => {
    await using opened = await open();
    const { call, limiter, store } = opened;
    await limiter.pause('user', ADA, { for: 60_000 });
    store.fails = true;
    await expect(call('user', 'a', { maxWait: 0 }, ADA)).rejects.toThrow(CallWaitError);
    expect(await call('user', 'b', { maxWait: 0 }, BOB)).toBe('b');
    expect(await limiter.pause('user', BOB, { for: 1_000 })).toBe(false);
    await expect(call('user', 'b', { maxWait: 0 }, BOB)).rejects.toThrow(CallWaitError);
  });

  it('lets no call leave at a departure slot that it got before', async () => {
    await using opened = await open();
    const { clock, call, limiter, ran } = opened;
    for (const name of ['a', 'b', 'c']) void call('even', name);
    await turns();
    expect(ran).toEqual(['a@0']);
    await limiter.pause('even', null, { for: 5_000 });
    await pass(clock, 4_900);
    expect(ran).toEqual(['a@0']);
    await pass(clock, 2_000);
    expect(ran).toEqual(['a@0', 'b@5', 'c@6']);
  });
});

describe('in a process without Redis', () => {
  const LIMIT = 3;

  it('as many identities are paused as may wait, and a further pause says that it is none', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const clock = new VirtualClock();
    const store = new MemoryStore({ clock: clock.read });
    const imports = [RateLimitModule.forRoot({ policies: POLICIES, maxQueuedCalls: LIMIT, store })];
    await using app = await start('Express', { imports });
    const limiter = app.app.get(RateLimiter);
    const names = Array.from({ length: 2 * LIMIT + 1 }, (_, i) => ({ kind: 'user', value: `u${i}` }));
    const paused = [];
    for (const name of names) paused.push(await limiter.pause('user', name, { for: 60_000 }));
    expect(paused).toEqual(names.map((_, i) => i < 2 * LIMIT));
    expect(warn.mock.calls.map(([text]) => text)).toEqual([expect.stringContaining('fg_pause_not_shared')]);
    const calls = names.map(async (name) => limiter.schedule('user', name, () => 'ran', { maxWait: 0 }));
    const ends = await Promise.allSettled(calls);
    expect(ends.map(({ status }) => status === 'rejected')).toEqual(paused);
    expect((await limiter.explain('user', names[0]!)).policies).toMatchObject([{ pausedUntil: expect.any(String) }]);
    await limiter.reset('user', names[0]!);
    expect(await limiter.schedule('user', names[0]!, () => 'ran', { maxWait: 0 })).toBe('ran');
  });
});
