import type { MessageEvent } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Subscription } from 'rxjs';
import { Broadcast } from './broadcast.js';

const OPTIONS = { periodMs: 20, heartbeatMs: 100, maxViewers: 3, maxViewersPerPeer: 2 };
const HELLO: MessageEvent = { type: 'hello', data: '' };

interface Viewer {
  readonly seen: unknown[];
  readonly end: Promise<unknown>;
  readonly leave: () => void;
}

let peers = 0;

function join(broadcast: Broadcast, peer = `10.0.0.${++peers}`): Viewer {
  const seen: unknown[] = [];
  let subscription: Subscription;
  const end = new Promise((resolve) => {
    subscription = broadcast
      .watch(peer, () => HELLO)
      .subscribe({
        next: ({ data }) => seen.push(data),
        error: resolve,
        complete: () => resolve('complete'),
      });
  });
  return { seen, end, leave: () => subscription.unsubscribe() };
}

/** Returns the number of looks, or always the same value. */
function looker(changing = true): { looks: number; look: () => Promise<{ event: MessageEvent; gist: string }> } {
  const counted = {
    looks: 0,
    look: async () => {
      const data = ++counted.looks;
      return { event: { data: String(data) }, gist: changing ? String(data) : '' };
    },
  };
  return counted;
}

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

describe('Broadcast', () => {
  it('looks once for all viewers, once per period, and never without viewers', async () => {
    const things = looker();
    const broadcast = new Broadcast(things.look, OPTIONS);
    await pass(60);
    expect(things.looks).toBe(0);
    const viewers = [join(broadcast), join(broadcast), join(broadcast)];
    await pass(3 * OPTIONS.periodMs);
    for (const { leave } of viewers) leave();
    expect(things.looks).toBe(4);
    for (const { seen } of viewers) expect(seen).toEqual(['', '1', '2', '3', '4']);
    await pass(60);
    expect([things.looks, broadcast.watched]).toEqual([4, 0]);
  });

  it('repeats an unchanged result only as a heartbeat', async () => {
    const things = looker(false);
    const { seen, leave } = join(new Broadcast(things.look, OPTIONS));
    await pass(3 * OPTIONS.heartbeatMs + 10);
    leave();
    expect(seen).toHaveLength(2 + 3);
    expect(things.looks).toBeGreaterThan(10);
  });

  it('ends all streams on close and on a failed look, and admits no viewer after close', async () => {
    const broadcast = new Broadcast(looker().look, OPTIONS);
    const viewers = [join(broadcast), join(broadcast)];
    broadcast.close();
    expect(await Promise.all(viewers.map(({ end }) => end))).toEqual(['complete', 'complete']);
    expect(await join(broadcast).end).toMatchObject({ status: 503, message: 'the process is shutting down' });

    const blind = new Broadcast(() => Promise.reject(new Error('blind')), OPTIONS);
    const viewer = join(blind);
    await pass(1);
    expect(await viewer.end).toEqual(new Error('blind'));
    expect(blind.watched).toBe(0);
  });
});
