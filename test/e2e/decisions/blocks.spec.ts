import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { MemoryStore, type Policy, RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { limited, type Reply, start } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';

const MINUTE = 60_000_000;
const GUESSES = {
  name: 'guesses',
  algorithm: 'fixed-window',
  limit: 2,
  window: '1m',
  blockFor: '10m',
  blockAfter: 3,
} as const;

@Controller()
class Login {
  @Get('login')
  @RateLimit(GUESSES, { name: 'all', algorithm: 'fixed-window', limit: 1_000, window: '1m' })
  login(): void {}
}

const ADA = { kind: 'user', value: 'ada' };
const START = 28_000_000 * MINUTE;

const redis = useRedis();

const remaining = ({ headers }: Reply, policy: string): string | undefined =>
  new RegExp(`"${policy}";r=(\\d+)`).exec(String(headers.ratelimit))?.[1];

describe('a policy with blockFor', () => {
  it('rejects for the rest of the block, says so, and charges nothing meanwhile', async () => {
    let now = START;
    const store = new MemoryStore({ clock: () => now });
    await using app = await limited('Express', Login, { store, headers: 'draft-11', problem: true });
    const asked = async (count: number): Promise<Reply[]> => {
      const replies: Reply[] = [];
      for (let i = 0; i < count; i++) replies.push(await app.send('/login'));
      return replies;
    };
    const first = await asked(4);
    expect(first.map(({ status, headers }) => [status, headers['retry-after']])).toEqual([
      [200, undefined],
      [200, undefined],
      [429, '60'],
      [429, '60'],
    ]);
    now += MINUTE / 2;
    const [third, fourth] = await asked(2);
    expect([third, fourth].map((reply) => reply!.headers['retry-after'])).toEqual(['600', '600']);
    now += 5 * MINUTE;
    const [later] = await asked(1);
    expect(later).toMatchObject({ status: 429, headers: { 'retry-after': '300' } });
    expect(later!.body).toMatchObject({ 'violated-policies': ['guesses'], 'retry-after-ms': 300_000 });
    expect([remaining(later!, 'guesses'), remaining(later!, 'all')]).toEqual(['0', '1000']);
    now += 5 * MINUTE - 1;
    expect((await asked(1))[0]!.status).toBe(429);
    now += 1;
    expect((await asked(1))[0]!.status).toBe(200);
  });
});

it('a reset lifts a block, and forgets how often the client was blocked', async () => {
  const door = { algorithm: 'fixed-window', limit: 1, window: '300d', blockFor: ['1m', '1h'] } as const;
  const store = new MemoryStore({ clock: () => START });
  await using app = await start('Express', { imports: [RateLimitModule.forRoot({ store, policies: { door } })] });
  const limiter = app.app.get(RateLimiter);
  for (let i = 0; i < 2; i++) {
    expect((await limiter.consume('door', ADA)).allowed).toBe(true);
    expect((await limiter.consume('door', ADA)).policies[0]).toMatchObject({ allowed: false, blockStep: 1 });
    await limiter.reset('door', ADA);
  }
});

it('a decision says which duration of a list the block lasts, also from the denial cache', async () => {
  const door = { algorithm: 'fixed-window', limit: 1, window: '300d', blockFor: ['1m', '1h'] } as const;
  const options = { redis: redis.server.url, deadline: '10s', policies: { door } } as const;
  await using app = await start('Express', { imports: [RateLimitModule.forRoot(options)] });
  const limiter = app.app.get(RateLimiter);
  await limiter.consume('door', ADA);
  for (let i = 0; i < 3; i++) {
    const [decision] = (await limiter.consume('door', ADA)).policies;
    expect(decision).toMatchObject({ allowed: false, blockStep: 1, blockedForMs: expect.any(Number) });
  }
});

it('a deploy that makes a list of blockFor does not read the state of the old block', async () => {
  const ask = async (blockFor: Policy['blockFor']): Promise<unknown> => {
    const door = { algorithm: 'fixed-window', limit: 1, window: '300d', blockFor } as Policy;
    const imports = [RateLimitModule.forRoot({ redis: redis.server.url, deadline: '10s', policies: { door } })];
    await using app = await start('Express', { imports });
    const { policies } = await app.app.get(RateLimiter).consume('door', ADA);
    return [policies[0]!.allowed, policies[0]!.blockedForMs !== undefined, policies[0]!.blockStep];
  };
  expect(await ask('10m')).toEqual([true, false, undefined]);
  expect(await ask('10m')).toEqual([false, true, undefined]);
  expect(await ask(['10m', '1h'])).toEqual([false, true, 1]);
  // A list of one is the single duration.
  expect(await ask([600_000])).toEqual([false, true, undefined]);
});

describe('blockFor', () => {
  it.each([
    [
      { blockFor: 0 },
      `blockFor must be milliseconds or a duration such as '10m', from 1 ms to 100 years, or a list of 1 to 16 of them, each longer than the one before and none longer than 50 years, such as ['1m', '10m', '1h'], got 0`,
    ],
    [{ blockFor: [] }, `such as ['1m', '10m', '1h'], got an empty list`],
    [{ blockFor: Array.from({ length: 17 }, (_, i) => i + 1) }, 'got a list of 17'],
    [{ blockFor: ['1m', 0] }, 'got 0 at [1]'],
    [{ blockFor: ['1m', 'soon', '1h'] }, `got 'soon' at [1]`],
    [{ blockFor: ['10m', '1m'] }, `got '1m' after '10m' at [1]`],
    [{ blockFor: ['1m', '200y'] }, `got '200y' at [1]`],
    [{ blockFor: '1m', blockAfter: 0 }, 'blockAfter must be a whole number from 1 to 1000000, got 0'],
    [{ blockAfter: 3 }, 'blockAfter has no effect without blockFor, got 3'],
  ])('stops the boot for %j', async (wrong, message) => {
    const guesses = { algorithm: 'token-bucket', capacity: 5, refill: 1, ...wrong } as Policy;
    const booting = start('Express', { imports: [RateLimitModule.forRoot({ policies: { guesses } })] });
    await expect(booting).rejects.toThrow(message);
  });
});
