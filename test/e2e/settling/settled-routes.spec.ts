import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get, UnauthorizedException } from '@nestjs/common';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Outcome, type Policy, RateLimit, RateLimiter } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { FROM_HEADERS, type HttpApp, limited } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { type Kind, KINDS, storeOf } from '../support/kinds.js';

const ADA = { kind: 'user', value: 'ada' } as const;
const HOURS = { algorithm: 'fixed-window', window: '300d', by: 'user', scope: 'app' } as const;

interface Answer {
  readonly tokens: number;
}

let outcomes: Outcome[] = [];
let refuses = true;

const LOGIN: Policy = {
  name: 'login',
  algorithm: 'sliding-window-log',
  limit: 5,
  window: '15m',
  by: 'user',
  scope: 'app',
  countIf: (outcome) => {
    outcomes.push(outcome);
    return outcome.status === 401;
  },
};
const TOKENS: Policy = {
  ...HOURS,
  name: 'tokens',
  limit: 10_000,
  cost: 2_000,
  settle: ({ value }) => (value as Answer).tokens,
};

@Controller()
class Routes {
  @Get('login')
  @RateLimit(LOGIN)
  async login(): Promise<string> {
    await delay(30);
    if (refuses) throw new UnauthorizedException();
    return 'welcome';
  }
}

const redis = useRedis();

beforeEach(() => {
  [outcomes, refuses] = [[], true];
});

function open(kind: Kind): Promise<HttpApp> {
  return limited(kind.platform, Routes, { identity: FROM_HEADERS, ...storeOf(kind, redis) });
}

const headers = { 'x-user-id': 'ada' };

describe.each(KINDS)('a route that is settled after its response, over $platform with $store', (kind) => {
  it('tells what the handler returned or threw, the status and the time', async () => {
    await using app = await open(kind);
    await app.send('/login', { headers });
    refuses = false;
    await app.send('/login', { headers });
    await until('2 outcomes', 5_000, () => outcomes.length === 2);
    const [refused, welcome] = outcomes;
    expect(refused).toMatchObject({ status: 401, value: undefined, aborted: false });
    expect(refused!.error).toBeInstanceOf(UnauthorizedException);
    expect(welcome).toMatchObject({ status: 200, value: 'welcome', error: undefined, aborted: false });
    for (const { durationMs } of outcomes) expect(durationMs).toBeGreaterThan(0);
  });
});

describe('what cannot be settled', () => {
  it('is said where a policy is charged by code', async () => {
    await using app = await limited('Express', Routes, {
      identity: FROM_HEADERS,
      policies: { named: { ...TOKENS, name: 'named' } },
    });
    const limiter = app.app.get(RateLimiter);
    await limiter.peek('named', ADA);
    await (await limiter.reserve('named', ADA)).cancel();
    expect(app.logs.text).not.toContain('needs a request');
    await limiter.consume('named', ADA);
    expect(app.logs.text).toMatch(/policy 'named' has a settle, which needs a request: call RateLimiter.reserve/);
  });
});
