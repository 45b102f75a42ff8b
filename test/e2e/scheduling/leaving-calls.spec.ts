import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { CallQueueFullError, CallWaitError, LimiterClosedError, LimiterUnavailableError } from 'nestjs-floodgate';
import { nodeWarnings } from '../../support/node-warnings.js';
import { open, pass, turns } from './support/scheduled-calls.js';

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

  it('shares its signal with any number of others, without a warning of leaked listeners', async () => {
    await using opened = await open();
    const { call, ran } = opened;
    const warnings = nodeWarnings();
    const abort = new AbortController();
    const calls = Array.from({ length: 30 }, async (_, i) => call('partner', `${i}`, { signal: abort.signal }));
    await turns();
    abort.abort();
    const ended = await Promise.allSettled(calls);
    expect(ended.filter(({ status }) => status === 'rejected')).toHaveLength(28);
    expect(ran).toHaveLength(2);
    expect(await warnings()).toEqual([]);
    expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
  });

  it('lets the next one on that takes less of what both wait for, however much it takes of another policy', async () => {
    const policies = {
      requests: { algorithm: 'token-bucket', capacity: 20, refill: 20, by: 'global' },
      tokens: { algorithm: 'token-bucket', capacity: 8, refill: 1, by: 'global' },
    } as const;
    await using opened = await open({ policies });
    const { clock, call, ran } = opened;
    const pair = ['requests', 'tokens'];
    const abort = new AbortController();
    void call(pair, 'first', { cost: { tokens: 8 } });
    void call(pair, 'gone', { cost: { tokens: 8 }, signal: abort.signal });
    void call(pair, 'next', { cost: { requests: 9, tokens: 2 } });
    await pass(clock, 3_000);
    abort.abort();
    await turns();
    expect(ran).toEqual(['first@0', 'next@3']);
  });

  it('is refunded when the store answers after it has left', async () => {
    await using opened = await open();
    const { call, limiter, ran, store } = opened;
    const abort = new AbortController();
    store.hold();
    const calls = [call('partner', 'gone', { signal: abort.signal }), call('tokens', 'late', { maxWait: 20 })];
    await turns();
    abort.abort();
    await expect(calls[0]).rejects.toThrow('aborted');
    store.release();
    await turns();
    expect(ran).toEqual(['late@0']);
    expect((await limiter.peek('partner')).policies[0]!.remaining).toBe(2);
  });

  it.each([
    ['is known', {}],
    ['is a function of the result', { cost: () => 1, estimate: 3 }],
  ])('gives its departure slot back whose cost %s, and so do those before it', async (_, options) => {
    await using opened = await open();
    const { call, limiter } = opened;
    const abort = new AbortController();
    await call('line', 'first');
    const { signal } = abort;
    const calls = ['a', 'b', 'c'].map(async (name) => call('line', name, { maxWait: Infinity, signal, ...options }));
    await turns();
    expect((await limiter.peek('line')).delayMs).toBeGreaterThan(2_000);
    abort.abort();
    await Promise.allSettled(calls);
    await turns();
    expect((await limiter.peek('line')).delayMs).toBe(1_000);
  });

  it('rejects at once where its time is certain not to suffice, and says when to come again', async () => {
    await using opened = await open();
    const { clock, call } = opened;
    for (const name of ['a', 'b']) void call('partner', name);
    const error = await call('partner', 'c', { maxWait: 1_000 }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CallWaitError);
    expect(error).toBeInstanceOf(LimiterUnavailableError); // a 503 in a route
    expect(error).toMatchObject({ code: 'FG_CALL_WAIT', retryAfterMs: 1_000 });
    const waits = call('partner', 'd', { maxWait: 1_001 });
    // It is the second one that waits, which nobody can know.
    const late = call('partner', 'e', { maxWait: 1_500 });
    const none = call('partner', 'f', { maxWait: 0 });
    await expect(none).rejects.toThrow(CallWaitError);
    await pass(clock, 1_500);
    expect(await waits).toBe('d');
    await expect(late).rejects.toThrow("no turn under 'partner' within maxWait (1500 ms)");
    expect(clock.waiting).toBe(0);
  });

  it('rejects when the application shuts down, and leaves no timer', async () => {
    await using opened = await open();
    const { clock, call, close, limiter, runtime } = opened;
    for (let i = 0; i < 2; i++) void call('partner', 'runs');
    void call('even', 'runs');
    const waiting = Array.from({ length: 5 }, async (_, i) => call(i < 3 ? 'partner' : 'even', `${i}`));
    const left = Promise.all(waiting.map((one) => expect(one).rejects.toThrow(LimiterClosedError)));
    await turns();
    expect(runtime.parts.queue.size).toBe(5);
    await close();
    await left;
    expect([runtime.parts.queue.size, clock.waiting]).toEqual([0, 0]);
    await expect(limiter.schedule('partner', () => 1)).rejects.toThrow(LimiterClosedError);
  });

  it.each([undefined, new AbortController().signal])(
    'does not run once the application shuts down, and gives back what the store grants it then (signal: %p)',
    async (signal) => {
      await using opened = await open();
      const { call, close, limiter, ran, store } = opened;
      store.hold();
      const late = call('slots', 'late', { signal });
      await turns();
      const closed = close();
      await turns();
      store.release();
      await expect(late).rejects.toThrow(LimiterClosedError);
      await closed;
      expect(ran).toEqual([]);
      expect((await limiter.peek('slots')).policies[0]!.remaining).toBe(2);
    },
  );

  it('does not get in where maxQueuedCalls wait', async () => {
    await using opened = await open({ maxQueuedCalls: 3 });
    const { call, runtime, store, clock } = opened;
    for (let i = 0; i < 5; i++) void call('partner', `${i}`);
    const asked = store.questions;
    const error = await call('partner', 'x').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CallQueueFullError);
    expect(String(error)).toContain("3 calls wait for 'partner', which is maxQueuedCalls");
    expect([store.questions, runtime.parts.queue.size]).toEqual([asked, 3]);
    await pass(clock, 1_000);
    void call('partner', 'y', { maxWait: 5_000 });
    expect(runtime.parts.queue.size).toBe(3);
  });
});
