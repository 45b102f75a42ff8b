import { Controller, Get } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, RateLimitOverrides, Reservation } from 'nestjs-floodgate';
import { type HttpApp, limited } from '../../support/http-app.js';

const ADA = { kind: 'user', value: 'ada' };
const DAILY: Policy = { algorithm: 'fixed-window', limit: 5, window: '300d' };
const POLICIES: Record<string, Policy> = {
  daily: DAILY,
  jobs: { algorithm: 'concurrency', limit: 2, lease: '30s' },
  zoned: { algorithm: 'fixed-window', limit: 5, window: { calendar: 'day', timeZone: () => 'UTC' } },
  priced: { ...DAILY, cost: () => 1 },
  planned: { ...DAILY, plans: { pro: { limit: 50 } } },
};

@Controller()
class Shop {
  @Get('plain')
  @RateLimit('daily')
  plain(): void {}

  @Get('zoned')
  @RateLimit('zoned')
  zoned(): void {}

  @Get('chosen')
  @RateLimit(() => 'daily')
  chosen(): void {}

  noRoute(): void {}
}

let app: HttpApp;
let limiter: RateLimiter;
let overrides: RateLimitOverrides;

beforeAll(async () => {
  const plan = { resolve: () => undefined };
  app = await limited('Express', Shop, { policies: POLICIES, plan });
  limiter = app.app.get(RateLimiter);
  overrides = app.app.get(RateLimitOverrides);
});
afterAll(() => app.close());

/** Arguments that are wrong for each method, and a part of the message. */
type Wrong = readonly [args: readonly unknown[], problem: string];

const WRONG_IDENTITY: Wrong = [['daily', { kind: 'user', value: 1.5 }], 'its value must be'];
const WRONG_POLICY: Wrong = [['daly', ADA], "there is no policy named 'daly'"];
const WRONG_COST: Wrong = [['daily', ADA, { cost: 1.5 }], 'the cost of policy'];
const LEASED: Wrong = [['jobs', ADA], 'is a concurrency'];
const PRICED: Wrong = [['priced', ADA], 'the cost of policy'];
const NO_IDENTITY: Wrong = [['daily'], 'counts an identity'];
const OF_POLICIES: readonly Wrong[] = [
  WRONG_IDENTITY,
  WRONG_POLICY,
  NO_IDENTITY,
  [[[], ADA], 'takes at least one policy'],
  [[DAILY, ADA], 'a policy outside a route needs a name'],
  [[{ ...DAILY, name: 'x', limit: 0 }, ADA], 'limit must be'],
  [['daily', ADA, { ocst: 1 }], "'ocst' is not an option; the options are cost"],
  [['daily', ADA, { plan: 7 }], 'plan must be'],
  [['daily', ADA, { plan: 'pro' }], 'plan has no effect'],
  [['daily', ADA, { timeZone: 'UTC' }], 'timeZone has no effect'],
  [['zoned', ADA], 'the time zone of policy'],
];
const OF_ROUTE: readonly Wrong[] = [
  [[[Shop, 'plain'], 'ada'], 'identity must be'],
  [[[Shop, 'noRoute'], ADA], 'is no handler of a request'],
  [['GET /plian', ADA], "there is no route named 'GET /plian'. Did you mean 'GET /plain'?"],
];

const METHODS: Readonly<Record<string, readonly Wrong[]>> = {
  consume: [...OF_POLICIES, WRONG_COST, LEASED, PRICED],
  consumeSync: [NO_IDENTITY, WRONG_IDENTITY, WRONG_POLICY, WRONG_COST, LEASED, PRICED],
  reserve: [NO_IDENTITY, WRONG_IDENTITY, WRONG_POLICY, WRONG_COST, LEASED, PRICED],
  acquire: [
    WRONG_POLICY,
    [['jobs'], 'counts an identity'],
    [['jobs', { kind: 'user', value: 1.5 }], 'its value must be'],
    [['daily', ADA], 'has no leases'],
    [['jobs', ADA, { cost: 0 }], 'cost must be a whole number from 1'],
  ],
  schedule: [
    [['daly', ADA, () => 1], "there is no policy named 'daly'"],
    [['daily', ADA], 'fn must be a function'],
    [['daily', () => 1], 'counts an identity'],
    [['priced', ADA, () => 1], 'the cost of policy'],
    [['daily', ADA, () => 1, { cost: 0 }], 'cost must be a whole number from 1'],
    [['daily', ADA, () => 1, { cost: 6 }], 'cost 6 never fits'],
  ],
  pause: [
    [['daly', ADA, { for: 1 }], "there is no policy named 'daly'"],
    [['daily', ADA], "options must be an object such as { for: '30s' }"],
    [['daily', ADA, { for: 0 }], "for must be a duration from '1ms' to '36525d', got 0"],
  ],
  planChanged: [
    [[undefined], 'identity must be'],
    [['daily', ADA], 'identity must be'],
    [[{ kind: 'User', value: 1 }], 'its kind must be'],
    [[{ kind: 'usr', value: 'ada' }], "Did you mean 'user'?"],
    [['key:secret'], 'the tag of an API key'],
  ],
  peek: [
    NO_IDENTITY,
    WRONG_IDENTITY,
    WRONG_POLICY,
    ...OF_ROUTE,
    [[[Shop, 'chosen'], ADA], 'has policies that a function chooses'],
    [['daily', ADA, { cost: 1 }], "'cost' is not an option; the options are plan"],
    [[[Shop, 'plain'], ADA, { plan: 'pro' }], 'plan has no effect'],
    [[[Shop, 'zoned'], ADA, { timeZone: 'Mars' }], 'timeZone must be'],
    [['plain', ADA], "there is no policy named 'plain'"],
  ],
  reset: [
    NO_IDENTITY,
    WRONG_IDENTITY,
    WRONG_POLICY,
    ...OF_ROUTE,
    [[[Shop, 'chosen'], ADA], 'has policies that a function chooses'],
    [[{ policy: 'daly' }, ADA], "there is no policy named 'daly'"],
    [[{ policy: 'daily' }, 'key:secret'], 'the tag of an API key'],
  ],
  setHeaders: [[[undefined, {}], 'takes the response']],
  explain: [
    WRONG_POLICY,
    ...OF_ROUTE,
    [[null, 'key:secret'], 'the tag of an API key'],
    [[undefined, ADA], 'route must be'],
    [[null, ADA, { cost: 1 }], "'cost' is not an option; the options are plan"],
    [['GET /zoned', ADA, { timeZone: 'Mars' }], 'timeZone must be'],
  ],
};

const OTHERS = ['start', 'close', 'table', 'stats'];
const INNER = ['decide', 'checkOrder', 'isRouteName', 'resettable'];

async function messageOf(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('nothing was thrown');
}

describe('an error names the method that was called:', () => {
  it('every method is here', () => {
    const methods = Object.getOwnPropertyNames(RateLimiter.prototype).filter(
      (name) => !['constructor', ...INNER, ...OTHERS].includes(name),
    );
    expect(methods.toSorted()).toEqual(Object.keys(METHODS).toSorted());
  });

  it.each(
    Object.entries(METHODS).flatMap(([method, wrong]) => wrong.map(([args, problem]) => [method, problem, args])),
  )('RateLimiter.%s, %s', async (method, problem, args) => {
    const call = limiter[method as 'consume'] as (...given: unknown[]) => unknown;
    const message = await messageOf(() => call.apply(limiter, args as unknown[]));
    expect(message).toContain(problem);
    // No other method, unless the message says which one is right.
    const [first] = /RateLimiter(?:\.\w+)?/.exec(message) ?? [];
    expect(first).toBe(`RateLimiter.${String(method)}`);
  });

  it.each<[string, unknown[]]>([
    ['set', [{ policy: 'daily', identity: { kind: 'User', value: 1 } }, { limit: 3 }]],
    ['set', [{ policy: 'daily', identity: ADA }, { limt: 3 }]],
    ['get', [{ policy: 'daily', identity: { kind: 'user', value: {} } }]],
    ['remove', [{ policy: 7 }]],
    ['list', [{ cursor: '0' }]],
    ['history', [{ policy: 'daily', identity: 7 }]],
  ])('RateLimitOverrides.%s %j', async (method, args) => {
    const call = overrides[method as 'list'] as (...given: unknown[]) => unknown;
    expect(await messageOf(() => call.apply(overrides, args))).toMatch(
      new RegExp(`^RateLimitOverrides\\.${method}\\b`),
    );
  });

  it('Reservation.settle', async () => {
    const reservation = await limiter.reserve('daily', ADA);
    expect(reservation).toBeInstanceOf(Reservation);
    expect(await messageOf(() => reservation.settle(-1))).toMatch(/^Reservation\.settle: /);
    await reservation.cancel();
  });
});
