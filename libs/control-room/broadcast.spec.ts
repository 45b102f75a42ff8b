import { setTimeout as delay } from 'node:timers/promises';
import type { MessageEvent } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
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

describe('Broadcast', () => {
  it('looks once for all viewers, at most once per period, and never without viewers', async () => {
    const things = looker();
    const broadcast = new Broadcast(things.look, OPTIONS);
    await delay(60);
    expect(things.looks).toBe(0);
    const since = performance.now();
    const viewers = [join(broadcast), join(broadcast), join(broadcast)];
    await delay(200);
    for (const { leave } of viewers) leave();
    const most = 1 + (performance.now() - since) / (OPTIONS.periodMs - 1); // a timer may be a millisecond early
    const { looks } = things;
    expect(looks).toBeGreaterThan(1);
    expect(looks).toBeLessThanOrEqual(most);
    for (const { seen } of viewers)
      expect(seen).toEqual(['', ...Array.from({ length: looks }, (_, i) => String(i + 1))]);
    await delay(60);
    expect(things.looks).toBe(looks);
    expect(broadcast.watched).toBe(0);
  });

  it('repeats an unchanged result only as a heartbeat', async () => {
    const things = looker(false);
    const broadcast = new Broadcast(things.look, OPTIONS);
    const { seen, leave } = join(broadcast);
    const since = performance.now();
    await delay(350);
    leave();
    expect(seen.length).toBeGreaterThanOrEqual(3);
    expect(seen.length).toBeLessThanOrEqual(2 + (performance.now() - since) / OPTIONS.heartbeatMs);
    expect(things.looks).toBeGreaterThan(seen.length);
  });

  it('serves a viewer who arrives during a look for a viewer who has left', async () => {
    let finish = (): void => undefined;
    let looks = 0;
    const broadcast = new Broadcast(async () => {
      await new Promise<void>((resolve) => (finish = resolve));
      return { event: { data: String(++looks) }, gist: String(looks) };
    }, OPTIONS);
    const first = join(broadcast);
    await delay(10);
    first.leave();
    const second = join(broadcast);
    finish();
    await delay(30);
    finish();
    await delay(10);
    expect(first.seen).toEqual(['']);
    expect(second.seen).toEqual(['', '1', '2']);
    second.leave();
  });

  it('limits the number of viewers, and admits another when one leaves', async () => {
    const broadcast = new Broadcast(looker().look, OPTIONS);
    const viewers = Array.from({ length: OPTIONS.maxViewers }, () => join(broadcast));
    const rejected = join(broadcast);
    expect(await rejected.end).toMatchObject({ status: 503, message: 'at most 3 viewers can watch; try again later' });
    expect(rejected.seen).toEqual([]);
    viewers[0]!.leave();
    expect(join(broadcast).seen).toEqual(['']);
    broadcast.close();
  });

  it('limits the viewers of one peer, and admits another when one leaves', async () => {
    const broadcast = new Broadcast(looker().look, OPTIONS);
    const viewers = [join(broadcast, 'one'), join(broadcast, 'one')];
    expect(await join(broadcast, 'one').end).toMatchObject({ status: 429, retryAfter: 5 });
    expect(join(broadcast, 'other').seen).toEqual(['']);
    viewers[0]!.leave();
    expect(join(broadcast, 'one').seen).toEqual(['']);
    broadcast.close();
  });

  it('ends all streams on close and on a failed look, and admits no viewer after close', async () => {
    const broadcast = new Broadcast(looker().look, OPTIONS);
    const viewers = [join(broadcast), join(broadcast)];
    broadcast.close();
    expect(await Promise.all(viewers.map(({ end }) => end))).toEqual(['complete', 'complete']);
    expect(await join(broadcast).end).toMatchObject({ status: 503, message: 'the process is shutting down' });

    const blind = new Broadcast(() => Promise.reject(new Error('blind')), OPTIONS);
    expect(await join(blind).end).toEqual(new Error('blind'));
    expect(blind.watched).toBe(0);
  });
});
