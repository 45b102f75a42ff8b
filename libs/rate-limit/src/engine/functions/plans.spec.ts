import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { type BoundPolicy, bindPolicy } from '../../policy/bound-policy.js';
import { parsePolicy } from '../../policy/parse-policy.js';
import { ABANDONED_MS, type PlanBounds, Plans, type PlanSource, RETRY_MS } from './plans.js';
import { type FunctionKind, UserFunctions } from './user-functions.js';

const DEADLINE_MS = 30;
const CACHE_FOR_MS = 60_000;

const POLICY: BoundPolicy<string> = bindPolicy<string>(
  parsePolicy(
    { algorithm: 'fixed-window', limit: 1, window: '1d', plans: { pro: { limit: 2 }, big: { limit: 3 } } },
    'test',
  ),
  'rl',
  'test',
  'test',
);
const LIMITS = [POLICY, ...POLICY.plans!.values()].map(({ algorithm }) => algorithm.limit);

/** Plans whose resolver and clock the test moves. The context of a request is a text. */
class Setup {
  now = 0;
  /** The contexts that the resolver was called with. */
  readonly asked: string[] = [];
  readonly found: Record<PlanSource, number> = { cache: 0, resolver: 0, lastKnown: 0, fallback: 0 };
  readonly failures: FunctionKind[] = [];
  readonly warnings: string[] = [];
  readonly plans: Plans<string>;
  /** What the resolver does. */
  resolve: (context: string) => unknown = () => 'pro';

  constructor(bounds: Partial<PlanBounds> = {}, fallback: string | null = 'big') {
    const functions = new UserFunctions(
      DEADLINE_MS,
      { functionFailed: (kind) => void this.failures.push(kind) },
      { warn: (text: string) => void this.warnings.push(text) },
    );
    const resolve = (_request: unknown, context: string): unknown => {
      this.asked.push(context);
      return this.resolve(context);
    };
    const observer = { planFound: (source: PlanSource) => void this.found[source]++ };
    const settings = { resolve, cacheForMs: CACHE_FOR_MS, fallback: fallback ?? undefined };
    this.plans = new Plans(settings, () => ({ headers: {} }), functions, observer, { now: () => this.now, ...bounds });
  }

  /** The limit of a request's plan; a promise only where it had to wait. */
  ask(tag = 'user:ada', context = 'request'): number | Promise<number> {
    const policy = this.plans.policyFor(POLICY, tag, context);
    return policy instanceof Promise ? policy.then(({ algorithm }) => algorithm.limit) : policy.algorithm.limit;
  }

  /** What a request gets, and whether it waited. */
  async timed(tag?: string): Promise<[limit: number, ms: number]> {
    const since = performance.now();
    const limit = await this.ask(tag);
    return [limit, performance.now() - since];
  }
}

const hang = (): Promise<never> => new Promise(() => undefined);
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

let setup: Setup;

beforeEach(() => {
  setup = new Setup();
});

it('has a policy with three limits', () => {
  expect(LIMITS).toEqual([1, 2, 3]);
});

describe('a plan that is known', () => {
  it('needs neither a promise nor a call for as long as it is cached', () => {
    expect(setup.ask()).toBe(2);
    for (setup.now = 1; setup.now < CACHE_FOR_MS * 0.75; setup.now += 1000) expect(setup.ask()).toBe(2);
    expect(setup.asked).toHaveLength(1);
    expect(setup.found).toEqual({ cache: 45, resolver: 1, lastKnown: 0, fallback: 0 });
  });

  it.each<[unknown, number]>([
    [undefined, 1],
    [null, 1],
    ['free', 1],
    ['', 1],
    ['p'.repeat(1_000_000), 1],
    ['toString', 1],
    ['__proto__', 1],
    ['big', 3],
  ])('that is %p means the limit %i', async (plan, limit) => {
    setup.resolve = () => plan;
    expect(setup.ask()).toBe(limit);
    setup.resolve = () => Promise.resolve(plan);
    expect(await setup.ask('user:bob')).toBe(limit);
    expect(setup.ask('user:bob')).toBe(limit);
    expect(setup.failures).toEqual([]);
  });

  it('belongs to its client alone', async () => {
    setup.resolve = async (context) => context;
    expect(await setup.ask('user:ada', 'pro')).toBe(2);
    expect(await setup.ask('user:bob', 'big')).toBe(3);
    expect([setup.ask('user:ada'), setup.ask('user:bob')]).toEqual([2, 3]);
  });

  it('is refreshed in the background before it ends, once', async () => {
    expect(setup.ask()).toBe(2);
    setup.now = CACHE_FOR_MS * 0.75;
    const answers: ((plan: string) => void)[] = [];
    setup.resolve = () => new Promise((resolve) => void answers.push(resolve));
    for (let i = 0; i < 100; i++) expect(setup.ask()).toBe(2);
    expect(answers).toHaveLength(1);
    answers[0]!('big');
    await turn();
    expect(setup.ask()).toBe(3);
    setup.now += CACHE_FOR_MS * 0.75 - 1;
    expect(setup.ask()).toBe(3);
    expect(setup.asked).toHaveLength(2);
  });

  it('counts for cacheFor from the question on, however late the answer', async () => {
    let answer: (plan: string) => void;
    setup.resolve = () => new Promise((resolve) => void (answer = resolve));
    const first = setup.ask();
    setup.now = 20;
    answer!('pro');
    expect(await first).toBe(2);
    setup.resolve = () => 'big';
    setup.now = CACHE_FOR_MS;
    expect(setup.ask()).toBe(3);
  });

  it('ends after cacheFor: the request waits for the new one', async () => {
    expect(setup.ask()).toBe(2);
    setup.now = CACHE_FOR_MS * 10;
    setup.resolve = async () => 'big';
    expect(await setup.ask()).toBe(3);
  });
});

describe('many requests of a client at once', () => {
  it('are one call, and all of them get its answer', async () => {
    setup.resolve = async () => (await turn(), 'pro');
    const limits = await Promise.all(Array.from({ length: 5000 }, async () => setup.ask()));
    expect(new Set(limits)).toEqual(new Set([2]));
    expect(setup.asked).toHaveLength(1);
    expect(setup.found).toMatchObject({ resolver: 5000 });
  });

  it('are one call when it fails, too', async () => {
    setup.resolve = async () => {
      await turn();
      throw new Error('no database');
    };
    const limits = await Promise.all(Array.from({ length: 5000 }, async () => setup.ask()));
    expect(new Set(limits)).toEqual(new Set([3]));
    expect(setup.failures).toEqual(['plan']);
  });
});

const FAILING: [string, () => unknown, string][] = [
  [
    'throws',
    () => {
      throw new Error('no database');
    },
    'no database',
  ],
  ['rejects', () => Promise.reject(new Error('no database')), 'no database'],
  // oxlint-disable-next-line prefer-promise-reject-errors -- anything can be rejected with
  ['rejects with undefined', () => Promise.reject(undefined), 'undefined'],
  ['hangs', hang, `it did not settle within ${DEADLINE_MS} ms`],
  ['returns a number', () => 5, 'it must return the name of a plan, or nothing for no plan, got 5'],
  ['resolves with an object', async () => ({ plan: 'pro' }), 'or nothing for no plan, got an object'],
  [
    'returns a thenable that throws',
    () => ({
      // oxlint-disable-next-line unicorn/no-thenable -- a library's promise can be odd
      then: () => {
        throw new Error('odd');
      },
    }),
    'odd',
  ],
  [
    'returns an object whose then throws',
    () => ({
      // oxlint-disable-next-line unicorn/no-thenable -- a library's promise can be odd
      get then(): never {
        throw new Error('odd');
      },
    }),
    'odd',
  ],
];

describe.each(FAILING)('a resolver that %s', (_, resolve, reason) => {
  it('means the fallback, within the deadline, and is not called for each request', async () => {
    setup.resolve = resolve;
    const [limit, ms] = await setup.timed();
    expect(limit).toBe(3);
    expect(ms).toBeLessThan(DEADLINE_MS + 200);
    for (let i = 0; i < 50; i++) {
      const waited = setup.ask();
      expect(waited).toBe(3); // no promise: nobody waits again
      setup.now += RETRY_MS / 100;
    }
    expect(setup.asked).toHaveLength(1);
    expect(setup.failures).toEqual(['plan']);
    expect(setup.warnings).toHaveLength(1);
    expect(setup.warnings[0]).toContain('plan.resolve of RateLimitModule failed');
    expect(setup.warnings[0]).toContain(reason);
  });

  it('leaves the last known plan in force, after cacheFor, too', async () => {
    expect(setup.ask()).toBe(2);
    setup.resolve = resolve;
    setup.now = CACHE_FOR_MS * 0.9;
    expect(setup.ask()).toBe(2);
    await delay(DEADLINE_MS * 2);
    setup.now = CACHE_FOR_MS * 100;
    const [limit, ms] = await setup.timed();
    expect(limit).toBe(2);
    expect(ms).toBeLessThan(DEADLINE_MS + 200);
    expect(setup.found.fallback).toBe(0);
    expect(setup.found.lastKnown).toBe(1);
  });

  it('without a fallback means the own numbers of the policy', async () => {
    setup = new Setup({}, null);
    setup.resolve = resolve;
    expect(await setup.ask()).toBe(1);
  });

  it('is asked again later, and believed', async () => {
    setup.resolve = resolve;
    expect(await setup.ask()).toBe(3);
    setup.resolve = () => 'pro';
    setup.now += ABANDONED_MS;
    expect(setup.ask()).toBe(2);
  });
});

describe('a slow resolver', () => {
  it('delays a request by the deadline, and its late answer serves the next one', async () => {
    let answer: (plan: string) => void;
    setup.resolve = () => new Promise((resolve) => void (answer = resolve));
    expect(await setup.ask()).toBe(3);
    expect(setup.ask()).toBe(3);
    answer!('pro');
    await turn();
    expect(setup.ask()).toBe(2);
    expect(setup.asked).toHaveLength(1);
    expect(setup.failures).toEqual(['plan']);
  });

  it('that fails late is counted once, and asked again after a second', async () => {
    let fail: (error: Error) => void;
    setup.resolve = () => new Promise((_, reject) => void (fail = reject));
    expect(await setup.ask()).toBe(3);
    fail!(new Error('late'));
    await turn();
    expect(setup.failures).toEqual(['plan']);
    setup.resolve = () => 'pro';
    expect(setup.ask()).toBe(3);
    setup.now += RETRY_MS;
    expect(setup.ask()).toBe(2);
  });

  it('that is given up does not overrule a newer answer', async () => {
    let answer: (plan: string) => void;
    setup.resolve = () => new Promise((resolve) => void (answer = resolve));
    await setup.ask();
    setup.now += ABANDONED_MS;
    setup.resolve = () => 'pro';
    expect(setup.ask()).toBe(2);
    answer!('big');
    await turn();
    expect(setup.ask()).toBe(2);
  });
});

describe('bounds', () => {
  it('keep the clients that asked last', () => {
    setup = new Setup({ maxClients: 3 });
    for (const tag of ['a', 'b', 'c']) void setup.ask(tag);
    void setup.ask('a');
    void setup.ask('d'); // in place of b
    expect(setup.asked).toHaveLength(4);
    for (const tag of ['a', 'c', 'd']) void setup.ask(tag);
    expect(setup.asked).toHaveLength(4);
    void setup.ask('b');
    expect(setup.asked).toHaveLength(5);
  });

  it('hold the calls that hang, whatever number of clients there is, until they are given up', async () => {
    setup = new Setup({ maxCalls: 10, maxClients: 5 });
    setup.resolve = hang;
    await Promise.all(Array.from({ length: 500 }, async (_, i) => setup.ask(`user:${i}`)));
    expect(setup.asked).toHaveLength(10);
    expect(setup.warnings[0]).toContain('10 calls of it are under way');
    setup.now += ABANDONED_MS;
    await Promise.all(Array.from({ length: 500 }, async (_, i) => setup.ask(`user:${i}`)));
    expect(setup.asked).toHaveLength(20);
    setup.now += ABANDONED_MS;
    setup.resolve = () => 'pro';
    expect(setup.ask('user:1000')).toBe(2);
  });
});

describe('code without a request', () => {
  it('gets the last known plan of an identity, else the fallback, and asks nobody', () => {
    expect(setup.plans.lastKnown('user:ada')).toBe('big');
    void setup.ask();
    expect(setup.plans.lastKnown('user:ada')).toBe('pro');
    setup.now = CACHE_FOR_MS * 5;
    expect(setup.plans.lastKnown('user:ada')).toBe('pro');
    expect(setup.asked).toHaveLength(1);
    expect(setup.found).toEqual({ cache: 1, resolver: 1, lastKnown: 1, fallback: 1 });
  });
});
