import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ThrottlerLimitDetail } from '@nestjs/throttler';
import * as fc from 'fast-check';
import { MemoryStore } from 'nestjs-floodgate';
import * as ours from 'nestjs-floodgate/throttler';
import { histories, type History } from './support/history.js';
import { SharedClock, theirs } from './support/theirs.js';

let clock: SharedClock;

beforeEach(() => {
  clock = new SharedClock();
});

afterEach(() => {
  clock[Symbol.dispose]();
});

/** A storage of Floodgate on the clock that the storage of @nestjs/throttler reads. */
function ourStorage(): ours.ThrottlerStorageService {
  return new ours.ThrottlerStorageService(new MemoryStore({ clock: clock.microseconds }));
}

/** What both storages answer, hit by hit. */
async function replay({ limit, ttl, blockDuration = ttl, hits }: History): Promise<[Compared[], Compared[]]> {
  const storages = [new theirs.ThrottlerStorageService(), ourStorage()];
  const answers: [Compared[], Compared[]] = [[], []];
  for (const { after, client } of hits) {
    clock.advance(after);
    for (const [i, storage] of storages.entries()) {
      answers[i]!.push(compared(await storage.increment(`client ${client}`, ttl, limit, blockDuration, 'default')));
    }
  }
  return answers;
}

type Compared = Omit<ThrottlerLimitDetail, 'ttl' | 'limit' | 'key' | 'tracker' | 'totalHits'> & {
  readonly totalHits: number | 'rejected';
};

/**
 * Without two numbers that no response shows: the hits of a rejected request, which in @nestjs/throttler expire while the client
 * is blocked, and the time of a block that is over.
 */
function compared({ totalHits, timeToExpire, isBlocked, timeToBlockExpire }: ours.ThrottlerStorageRecord): Compared {
  return {
    isBlocked,
    timeToExpire,
    totalHits: isBlocked ? 'rejected' : totalHits,
    timeToBlockExpire: isBlocked ? timeToBlockExpire : 0,
  };
}

describe('the storage', () => {
  it('answers as the one of @nestjs/throttler, whatever is sent when', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const [expected, got] = await replay(history);
        expect(got).toEqual(expected);
      }),
      { numRuns: 1500 },
    );
  });

  it('counts limit + 1 hits of every rejected request, and says nothing of a block that is over', async () => {
    const storage = ourStorage();
    const hit = (): Promise<ours.ThrottlerStorageRecord> => storage.increment('client', 2000, 1, 5000, 'default');
    const allowed = { totalHits: 1, timeToExpire: 2, isBlocked: false, timeToBlockExpire: 0 };
    expect(await hit()).toEqual(allowed);
    expect(await hit()).toEqual({ totalHits: 2, timeToExpire: 2, isBlocked: true, timeToBlockExpire: 5 });
    clock.advance(4000);
    expect(await hit()).toEqual({ totalHits: 2, timeToExpire: 2, isBlocked: true, timeToBlockExpire: 1 });
    clock.advance(2000);
    expect(await hit()).toEqual(allowed);
  });

  it('lets no request pass with limit 0, where @nestjs/throttler lets one pass after each block', async () => {
    const passed = async (storage: ours.ThrottlerStorage): Promise<boolean[]> => {
      const seen = [];
      for (const after of [0, 500, 500, 500, 1000]) {
        clock.advance(after);
        seen.push(!(await storage.increment('client', 1000, 0, 1000, 'default')).isBlocked);
      }
      return seen;
    };
    expect(await passed(new theirs.ThrottlerStorageService())).toEqual([false, false, true, false, true]);
    expect(await passed(ourStorage())).toEqual([false, false, false, false, false]);
  });

  it('counts anew when the ttl of a key changes, where @nestjs/throttler goes on', async () => {
    const counted = async (storage: ours.ThrottlerStorage): Promise<number[]> => {
      const first = await storage.increment('client', 1000, 5, 0, 'default');
      const second = await storage.increment('client', 2000, 5, 0, 'default');
      return [first.totalHits, second.totalHits];
    };
    expect(await counted(new theirs.ThrottlerStorageService())).toEqual([1, 2]);
    expect(await counted(ourStorage())).toEqual([1, 1]);
  });

  it.each([
    [{ ttl: 0 }, /^throttler 'login': ttl must be milliseconds from 1, got 0; skipIf and @SkipThrottle/],
    [{ limit: 1.5 }, /^throttler 'login': limit must be a whole number from 0 to 1000000, got 1.5/],
    [{ blockDuration: -1 }, /^throttler 'login': blockDuration must be 0, or milliseconds from 1, got -1/],
    [
      { blockDuration: 999 },
      /blockDuration must be 0 \(no block\), at least 1000 ms or at least the ttl \(60000 ms\), got 999/,
    ],
  ])('refuses %p', async (wrong, message) => {
    const { limit, ttl, blockDuration } = { limit: 3, ttl: 60_000, blockDuration: 60_000, ...wrong };
    const answer = ourStorage().increment('client', ttl, limit, blockDuration, 'login');
    await expect(answer).rejects.toMatchObject({
      name: 'RateLimitConfigError',
      message: expect.stringMatching(message),
    });
  });

  it('counts a long key for itself, and bounds the name of a throttler', async () => {
    const storage = ourStorage();
    const hits = async (key: string): Promise<number> => (await storage.increment(key, 60_000, 2, 0, 'd')).totalHits;
    const keys = ['a', 'é', '€'].map((letter) => letter.repeat(2_000_000));
    for (const key of keys) expect([await hits(key), await hits(`${key}a`), await hits(key)]).toEqual([1, 1, 2]);
    const asked = storage.increment('key', 60_000, 2, 0, 'x'.repeat(95_000));
    await expect(asked).rejects.toThrow(/^throttler 'x{57}\.\.\.': name must be 1 to 56 printable characters/);
  });
});
