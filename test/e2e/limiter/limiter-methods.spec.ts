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

const WRONG_IDENTITY: readonly (readonly [identity: unknown, problem: string])[] = [
  [undefined, 'counts an identity'],
  ['ada', 'its kind must be'],
  [{ kind: 'user', value: 1.5 }, 'its value must be'],
  [{ kind: 'api-key', value: {} }, 'its value must be'],
];
const WRONG_POLICIES: readonly (readonly [policies: unknown, problem: string])[] = [
  ['daly', "there is no policy named 'daly'"],
  [['daily', 'daly'], "there is no policy named 'daly'"],
  [[], 'takes at least one policy'],
  [DAILY, 'a policy outside a route needs a name'],
  [{ ...DAILY, name: 'x', limit: 0 }, 'limit must be'],
];
const WRONG_COSTS: readonly Wrong[] = [1.5, '2'].map((cost) => [['daily', ADA, { cost }], 'the cost of policy']);
const WRONG_OPTIONS: readonly Wrong[] = [
  [['daily', ADA, { ocst: 1 }], "'ocst' is not an option of"],
  [['daily', ADA, { plan: 7 }], 'plan must be'],
  [['daily', ADA, { plan: 'pro' }], 'plan has no effect'],
  [['daily', ADA, { timeZone: 'UTC' }], 'timeZone has no effect'],
  [['zoned', ADA], 'the time zone of policy'],
];

const ofPolicies: readonly Wrong[] = [
  ...WRONG_IDENTITY.map(([identity, problem]): Wrong => [['daily', identity], problem]),
  ...WRONG_POLICIES.map(([policies, problem]): Wrong => [[policies, ADA], problem]),
  ...WRONG_OPTIONS,
];
const ofRoute: readonly Wrong[] = [
  ...WRONG_IDENTITY.filter(([identity]) => identity !== 'ada').map(([identity, problem]): Wrong => [
    [[Shop, 'plain'], identity],
    problem,
  ]),
  [[[Shop, 'plain'], 'ada'], 'identity must be'],
  [[[Shop, 'noRoute'], ADA], 'is no handler of a request'],
  [['GET /plian', ADA], "there is no route named 'GET /plian'. Did you mean 'GET /plain'?"],
  [[[Shop, 'chosen'], ADA], 'has policies that a function chooses'],
];

/** A concurrency beside another policy may be acquired, and all else is wrong in the same way. */
const acquired = (args: readonly unknown[]): readonly unknown[] => {
  const [policies, ...rest] = args;
  return [typeof policies === 'string' && policies !== 'daly' ? [policies, 'jobs'] : policies, ...rest];
};

/** The function stands behind the identity. */
const scheduled = ([policies, identity, ...rest]: readonly unknown[]): readonly unknown[] => [
  policies,
  identity,
  () => 1,
  ...rest,
];

const METHODS: Readonly<Record<string, readonly Wrong[]>> = {
  consume: [
    ...ofPolicies,
    ...WRONG_COSTS,
    [['jobs', ADA], 'is a concurrency'],
    [['priced', ADA], 'the cost of policy'],
  ],
  consumeSync: [...ofPolicies, ...WRONG_COSTS, [['jobs', ADA], 'is a concurrency'], [['priced', ADA], 'the cost of']],
  reserve: [
    ...ofPolicies,
    ...WRONG_COSTS,
    [['jobs', ADA], 'is a concurrency'],
    [['priced', ADA], 'the cost of policy'],
  ],
  acquire: [
    ...ofPolicies.map(([args, problem]): Wrong => [acquired(args), problem]),
    ...WRONG_COSTS.map(([args, problem]): Wrong => [acquired(args), problem]),
    [['daily', ADA], 'has no leases'],
    [['jobs', ADA, { cost: 0 }], 'cost must be a whole number from 1'],
  ],
  schedule: [
    ...ofPolicies.map(([args, problem]): Wrong => [scheduled(args), problem]),
    ...WRONG_COSTS.map(([args]): Wrong => [scheduled(args), 'cost must be a whole number from 1']),
    [['daily', ADA], 'fn must be a function'],
    [['daily', () => 1], 'counts an identity'],
    [['priced', ADA, () => 1], 'the cost of policy'],
    [['daily', ADA, () => 1, { cost: 0 }], 'cost must be a whole number from 1'],
    [['daily', ADA, () => 1, { cost: 6 }], 'cost 6 never fits'],
  ],
  pause: [
    ...WRONG_IDENTITY.map(([identity, problem]): Wrong => [['daily', identity, { ms: 1 }], problem]),
    ...WRONG_POLICIES.map(([policies, problem]): Wrong => [[policies, ADA, { ms: 1 }], problem]),
    [['daily', ADA], 'options must be an object such as { ms: 30_000 }'],
    [['daily', ADA, { ms: 0 }], 'ms must be milliseconds from 1'],
    [['daily', ADA, { ms: 1, reason: 7 }], 'reason must be text'],
  ],
  peek: [
    ...ofPolicies.filter(([[, identity]]) => identity !== 'ada'),
    ...ofRoute,
    [['daily', 'ada'], 'identity must be'],
    [['daily', ADA, { cost: 1 }], "'cost' is not an option of"],
    [[[Shop, 'plain'], ADA, { cost: 1 }], "'cost' is not an option of"],
    [[[Shop, 'plain'], ADA, { plan: 'pro' }], 'plan has no effect'],
    [[[Shop, 'plain'], ADA, { timeZone: 'UTC' }], 'timeZone has no effect'],
    [[[Shop, 'zoned'], ADA, { timeZone: 'Mars' }], 'timeZone must be'],
    [[{ policy: 'daly' }, ADA], "there is no policy named 'daly'"],
    [['plain', ADA], "there is no policy named 'plain'"],
  ],
  reset: [
    ...WRONG_IDENTITY.filter(([identity]) => identity !== 'ada').map(([identity, problem]): Wrong => [
      ['daily', identity],
      problem,
    ]),
    ...WRONG_POLICIES.map(([policies, problem]): Wrong => [[policies, ADA], problem]),
    ...ofRoute,
    [['daily', 'ada'], 'identity must be'],
    [[{ policy: 'daly' }, ADA], "there is no policy named 'daly'"],
    [[{ policy: 'daily' }, 'key:secret'], 'the tag of an API key'],
  ],
  setHeaders: [[[undefined, {}], 'takes the response']],
  explain: [
    ...WRONG_IDENTITY.slice(2).map(([identity, problem]): Wrong => [[null, identity], problem]),
    ...ofRoute.filter(([[, identity]]) => identity === ADA).slice(0, -1),
    [[null, 'ada'], 'identity must be'],
    [[null, 'key:secret'], 'the tag of an API key'],
    [['daly', ADA], "there is no policy named 'daly'"],
    [[{ policy: 'daly' }, ADA], "there is no policy named 'daly'"],
    [[undefined, ADA], 'route must be'],
    [[null, ADA, { cost: 1 }], "'cost' is not an option of"],
    [['GET /zoned', ADA, { timeZone: 'Mars' }], 'timeZone must be'],
  ],
};

const OTHERS = ['table', 'stats'];
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
