import { Controller, Get } from '@nestjs/common';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Outcome, type Policy, RateLimit, RateLimiter, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { FROM_HEADERS, type HttpApp, limited, type Platform } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { KINDS, storeOf } from '../support/kinds.js';

const ADA = { kind: 'user', value: 'ada' } as const;
const EXPIRES_MS = 400;
const COST = 2_000;
const MONTH = { algorithm: 'fixed-window', limit: 10_000, window: '300d', by: 'user', scope: 'app' } as const;

/** Budgets whose requests expire after some milliseconds. */
function expiringIn(expires: number | `${number}ms`) {
  const settle = ({ value }: Outcome): number => (value as { tokens: number }).tokens;
  const settled = { cost: COST, settle, expires };
  return {
    budget: { ...MONTH, ...settled, atExpiry: 'cancel' },
    partly: { ...MONTH, ...settled, atExpiry: 500 },
    counted: { ...MONTH, cost: 10, countIf: ({ status }) => status === 200, expires, atExpiry: 0 },
  } as const satisfies Record<string, Policy>;
}

const POLICIES = expiringIn(`${EXPIRES_MS}ms`);

/** Each ends a handler that runs. */
let running: (() => void)[] = [];
const answer = (): Promise<{ tokens: number }> =>
  new Promise((resolve) => running.push(() => resolve({ tokens: 150 })));

function finish(): void {
  for (const end of running.splice(0)) end();
}

beforeEach(() => {
  running = [];
});

@Controller()
class Routes {
  @Get('answer')
  @RateLimit('budget')
  answer() {
    return answer();
  }

  @Get('partly')
  @RateLimit('partly')
  partly() {
    return answer();
  }

  @Get('counted')
  @RateLimit('counted')
  counted() {
    return answer();
  }
}

const redis = useRedis();

async function open(options: RateLimitModuleOptions, platform: Platform = 'Express') {
  const http: HttpApp = await limited(platform, Routes, { identity: FROM_HEADERS, policies: POLICIES, ...options });
  const limiter = http.app.get(RateLimiter);
  const used = async (policy: keyof typeof POLICIES): Promise<number> => {
    const { limit, remaining } = (await limiter.peek(policy, ADA)).policies[0]!;
    return limit - remaining;
  };
  return { http, limiter, used, [Symbol.asyncDispose]: () => http[Symbol.asyncDispose]() };
}

describe.each(KINDS)('a request whose charge expires, over $platform and in $store', (kind) => {
  it('has its final cost of the expiry when it takes longer, and a larger one is charged at its end', async () => {
    await using opened = await open(storeOf(kind, redis), kind.platform);
    const { http, used } = opened;
    const sent = ['/answer', '/partly', '/counted'].map((path) => http.as('ada', path));
    await until('they are charged', 5_000, () => running.length === 3);
    await until('it has expired', 5_000, async () => (await used('budget')) === 0);
    await until('it has expired', 5_000, async () => (await used('partly')) === 500);
    await until('it has expired', 5_000, async () => (await used('counted')) === 0);
    finish();
    for (const reply of await Promise.all(sent)) expect(reply.status).toBe(200);
    await until('it is charged late', 5_000, async () => (await used('budget')) === 150);
    await until('it counts', 5_000, async () => (await used('counted')) === 10);
    expect(await used('partly')).toBe(500);
  });
});

it('is in the log that the other processes sweep, until it is settled', async () => {
  const policies = expiringIn(3_600_000);
  await using opened = await open({ ...storeOf({ platform: 'Express', store: 'Redis' }, redis), policies });
  // A process that is killed leaves it there: test/concurrency/expiring.long.spec.ts.
  const logged = async (): Promise<number> => {
    const keys = await redis.client.keys('*{reservations-*');
    return (await Promise.all(keys.map((key) => redis.client.zcount(key, 0, '+inf')))).reduce(
      (sum, count) => sum + count,
      0,
    );
  };
  const reply = opened.http.as('ada', '/answer');
  await until('it is in the log', 5_000, async () => running.length === 1 && (await logged()) === 1);
  finish();
  expect((await reply).status).toBe(200);
  await until('it is settled', 5_000, async () => (await opened.used('budget')) === 150);
  expect(await logged()).toBe(0);
});

describe('boot', () => {
  const WINDOW = { name: 'budget', algorithm: 'fixed-window', limit: 100, window: '1d', cost: 5 } as const;
  const settle = (): number => 1;

  it.each<[string, object, string]>([
    [
      'atExpiry without expires',
      { settle, atExpiry: 'cancel' },
      "atExpiry has no effect without expires: add expires, such as '60s'",
    ],
    [
      'expires without settle and countIf',
      { expires: '60s', atExpiry: 'cancel' },
      'expires has no effect without settle or countIf: other charges are final',
    ],
    [
      'no duration',
      { settle, expires: 'soon', atExpiry: 0 },
      "expires must be a duration from '1ms' to '7d', such as '60s', got 'soon'",
    ],
    [
      "'keep'",
      { settle, expires: '60s', atExpiry: 'keep' },
      "atExpiry must be 'cancel', or the final cost as a whole number from 0 below the cost, got 'keep'",
    ],
    [
      'a final cost that refunds nothing',
      { settle, expires: '60s', atExpiry: 5 },
      'atExpiry must be below the cost, which is 5, got 5: nothing would be refunded',
    ],
  ])('refuses %s', async (_, more, message) => {
    @Controller()
    class Wrong {
      @Get()
      @RateLimit({ ...WINDOW, ...more })
      get(): void {}
    }
    const boot = limited('Express', Wrong, {});
    await expect(boot).rejects.toThrow(message);
    await expect(boot).rejects.toMatchObject({ code: 'FG_INVALID_POLICY' });
  });
});
