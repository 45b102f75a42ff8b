import { beforeEach, describe, expect, it } from '@jest/globals';
import { type BoundPolicy, bindPolicy } from '../policy/bound-policy.js';
import { parsePolicy } from '../policy/parse-policy.js';
import { ABANDONED_MS, type PlanBounds, Plans, type PlanSource, RETRY_MS } from './plans.js';
import { type FunctionKind, UserFunctions } from './user-functions.js';

const DEADLINE_MS = 5;
const CACHE_FOR_MS = 60_000;
const TIMEOUT_MS = 1000;

const POLICY: BoundPolicy<string> = bindPolicy<string>(
  parsePolicy(
    {
      name: 'test',
      algorithm: 'fixed-window',
      limit: 1,
      window: '1d',
      plans: { pro: { limit: 2 }, big: { limit: 3 } },
    },
    'test',
  ),
  'rl',
  'test',
  'test',
);

/** Plans whose resolver and clock the test moves. The context of a request is a text. */
class Setup {
  now = 0;
  /** The contexts that the resolver was called with. */
  readonly asked: string[] = [];
  readonly found: Record<PlanSource, number> = { cache: 0, resolver: 0, lastKnown: 0, fallback: 0 };
  readonly failures: FunctionKind[] = [];
  readonly warnings: string[] = [];
  readonly plans: Plans<string>;
  /** What waits for an instant of the clock. */
  private timers: { readonly at: number; readonly run: () => void }[] = [];
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
    const settings = { resolve, cacheForMs: CACHE_FOR_MS, timeoutMs: TIMEOUT_MS, fallback: fallback ?? undefined };
    const endedWithin = (ms: number, work: Promise<void>): Promise<unknown> =>
      Promise.race([work, new Promise<void>((run) => this.timers.push({ at: this.now + ms, run }))]);
    const known = { now: () => this.now, endedWithin, ...bounds };
    this.plans = new Plans(settings, () => ({ headers: {} }), functions, observer, known);
  }

  /** Sets the clock, and runs what is due. */
  async moveTo(now: number): Promise<void> {
    this.now = now;
    const due = this.timers.filter(({ at }) => at <= now);
    this.timers = this.timers.filter(({ at }) => at > now);
    for (const { run } of due) run();
    await turn();
  }

  /** The limit for code without a request. */
  lastKnown(): number {
    return this.plans.underLastKnown(POLICY, 'user:ada').algorithm.limit;
  }

  /** The limit of a request's plan; a promise only where it had to wait. */
  ask(tag = 'user:ada', context = 'request', of = POLICY): number | Promise<number> {
    const policy = this.plans.policyFor(of, tag, context);
    return policy instanceof Promise ? policy.then(({ algorithm }) => algorithm.limit) : policy.algorithm.limit;
  }
}

const hang = (): Promise<never> => new Promise(() => undefined);
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

let setup: Setup;

beforeEach(() => {
  setup = new Setup();
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
  ['hangs', hang, `it did not settle within ${DEADLINE_MS} ms`],
  ['resolves with a number', async () => 500, 'it must return the name of a plan, numbers such as'],
  [
    'resolves with a row of a database',
    async () => ({ plan: 'pro' }),
    "the numbers of policy 'plan' must be an object such as { limit: 500 }, got 'pro'",
  ],
  ['resolves with no numbers', async () => ({}), 'or nothing for no plan, got an object'],
  ['resolves with a list', async () => [{ limit: 500 }], 'or nothing for no plan, got an array'],
  ['resolves with a wrong number', async () => ({ limit: -5 }), "policy 'test' of test: limit must be a whole number"],
  ['resolves with a number of another algorithm', async () => ({ capacity: 5 }), "'capacity' is not an option"],
  ['resolves with a wrong number by name', async () => ({ test: { limit: '5' } }), 'limit must be a whole number'],
  [
    'resolves with what throws where it is read',
    async () => ({
      get limit(): never {
        throw new Error('odd row');
      },
    }),
    'odd row',
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
  it('means the fallback, and is not called for each request', async () => {
    setup.resolve = resolve;
    expect(await setup.ask()).toBe(3);
    for (let i = 0; i < 50; i++) {
      const waited = setup.ask();
      expect(waited).toBe(3); // no promise: nobody waits again
      setup.now += RETRY_MS / 100;
    }
    expect(setup.asked).toHaveLength(1);
    expect(setup.failures).toEqual(['plan']);
    expect(setup.warnings).toHaveLength(1);
    expect(setup.warnings[0]).toContain('plan.resolve failed');
    expect(setup.warnings[0]).toContain(reason);
  });

  it('leaves the last known plan in force, after cacheFor, too', async () => {
    expect(setup.ask()).toBe(2);
    setup.resolve = resolve;
    setup.now = CACHE_FOR_MS * 0.9;
    expect(setup.ask()).toBe(2);
    while (setup.failures.length === 0) await turn();
    setup.now = CACHE_FOR_MS * 100;
    expect(await setup.ask()).toBe(2);
    expect(setup.found.fallback).toBe(0);
    expect(setup.found.lastKnown).toBe(1);
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

const BUCKET: BoundPolicy<string> = bindPolicy<string>(
  parsePolicy({ name: 'bucket', algorithm: 'token-bucket', capacity: 1, refill: 1, plans: {} }, 'test'),
  'rl',
  'test',
  'test',
);

describe('numbers of the look-up', () => {
  it.each<[string, unknown, number, number]>([
    ['for all policies', { limit: 500, window: '2d' }, 500, 1],
    ['by the name of a policy', { test: { limit: 500 } }, 500, 1],
    ['of two policies by their names', { test: { limit: 500 }, bucket: { capacity: 70 } }, 500, 70],
    ['of other policies alone, and of none that is known', { bucket: { capacity: 70 }, later: { limit: 8 } }, 1, 70],
    ['without what is undefined', { limit: 500, window: undefined, lease: undefined }, 500, 1],
  ])('%s count', async (_, answer, limit, capacity) => {
    const ofBucket = (): number | Promise<number> => setup.ask('user:ada', 'request', BUCKET);
    for (const resolve of [() => answer, () => Promise.resolve(answer)]) {
      setup = new Setup({}, null);
      setup.resolve = resolve;
      expect(await setup.ask()).toBe(limit);
      expect(setup.ask()).toBe(limit);
      expect(ofBucket()).toBe(capacity);
      expect(setup.asked).toHaveLength(1);
      expect(setup.plans.look(POLICY, 'user:ada')).toMatchObject({ isKnown: true, numbers: { algorithm: { limit } } });
    }
  });

  it('have no plan by name, and everything else of the policy', () => {
    setup.resolve = () => ({ limit: 500 });
    const policy = setup.plans.policyFor(POLICY, 'user:ada', 'request') as BoundPolicy<string>;
    expect(policy).toMatchObject({ name: 'test', plan: undefined, keyTail: POLICY.keyTail, by: POLICY.by });
    expect(setup.plans.policyFor(POLICY, 'user:bob', 'request')).toBe(policy); // equal numbers are one policy
  });

  it('are those of the answer, whatever becomes of its object', () => {
    const row = { limit: 500 };
    setup.resolve = () => row;
    expect(setup.ask()).toBe(500);
    row.limit = 1;
    expect(setup.ask()).toBe(500);
  });

  it('that another policy cannot have count as one failure, and the fallback counts there', () => {
    setup.resolve = () => ({ limit: 500 });
    expect(setup.ask()).toBe(500);
    for (let i = 0; i < 5; i++) expect(setup.ask('user:ada', 'request', BUCKET)).toBe(1);
    expect(setup.failures).toEqual(['plan']);
    expect(setup.warnings[0]).toContain("policy 'bucket' of test: 'limit' is not an option of token-bucket");
    expect(setup.ask()).toBe(500);
  });

  it('that are wrong leave those in force that were right', () => {
    setup.resolve = () => ({ limit: 500 });
    expect(setup.ask()).toBe(500);
    setup.resolve = () => ({ limit: 0.5 });
    setup.now = CACHE_FOR_MS;
    expect(setup.ask()).toBe(500);
    expect(setup.found.lastKnown).toBe(1);
    setup.resolve = () => ({ limit: 600 });
    setup.now += RETRY_MS;
    expect(setup.ask()).toBe(600);
  });

  it('are of so many policies at most', () => {
    const many = (count: number): object =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`policy-${i}`, { limit: 2 }]));
    setup.resolve = () => many(101);
    expect(setup.ask()).toBe(3);
    setup.resolve = () => ({ ...many(99), test: { limit: 500 } });
    setup.now += RETRY_MS;
    expect(setup.ask()).toBe(500);
  });
});

describe('a plan to come', () => {
  let answer: (plan: unknown) => void;
  let fail: (error: Error) => void;

  beforeEach(() => {
    setup.resolve = () => new Promise((resolve, reject) => ([answer, fail] = [resolve, reject]));
  });

  /** Whether a request waits for the plan, and what it had waited for. */
  const waiting = (): { isOver: boolean } => {
    const wait = { isOver: false };
    void setup.plans.toCome('user:ada')!().then(() => (wait.isOver = true));
    return wait;
  };

  it('is waited for until it is known, from the deadline on', async () => {
    expect(setup.plans.toCome('user:ada')).toBeUndefined(); // nobody has asked
    const first = setup.ask();
    expect(setup.plans.toCome('user:ada')).toBeUndefined(); // the request itself waits
    expect(await first).toBe(3);
    const waits = [waiting(), waiting()];
    await setup.moveTo(TIMEOUT_MS - 1);
    expect(waits).toEqual([{ isOver: false }, { isOver: false }]);
    answer('pro');
    await turn();
    expect(waits).toEqual([{ isOver: true }, { isOver: true }]);
    expect(setup.ask()).toBe(2);
    expect(setup.plans.toCome('user:ada')).toBeUndefined();
    expect(setup.asked).toHaveLength(1);
  });

  it('is waited for until the timeout, counted from the call', async () => {
    expect(await setup.ask()).toBe(3);
    const early = waiting();
    await setup.moveTo(TIMEOUT_MS - 1);
    const late = waiting();
    expect([early.isOver, late.isOver]).toEqual([false, false]);
    await setup.moveTo(TIMEOUT_MS);
    expect([early.isOver, late.isOver]).toEqual([true, true]);
    expect(setup.ask()).toBe(3);
    expect(setup.plans.toCome('user:ada')).toBeUndefined();
    answer('pro');
    await turn();
    expect(setup.ask()).toBe(2);
  });

  it('is no longer waited for once the call fails, or answers what is no plan', async () => {
    for (const end of [() => fail(new Error('no database')), () => answer(7)]) {
      expect(await setup.ask()).toBe(3);
      const wait = waiting();
      end();
      await turn();
      expect(wait.isOver).toBe(true);
      expect(setup.plans.toCome('user:ada')).toBeUndefined();
      setup.now += RETRY_MS;
    }
    expect(setup.failures).toEqual(['plan', 'plan']);
  });

  it('takes the place of the last known one once that has ended, and not before', async () => {
    setup.resolve = () => 'pro';
    expect(setup.ask()).toBe(2);
    setup.resolve = () => new Promise((resolve) => void (answer = resolve));
    setup.now = CACHE_FOR_MS * 0.8;
    expect(setup.ask()).toBe(2); // the refresh begins
    while (setup.failures.length === 0) await turn();
    expect(setup.plans.toCome('user:ada')).toBeUndefined();
    setup.now = CACHE_FOR_MS * 0.8 + ABANDONED_MS;
    expect(await setup.ask()).toBe(2);
    const wait = waiting();
    answer('big');
    await turn();
    expect(wait.isOver).toBe(true);
    expect(setup.ask()).toBe(3);
  });
});

describe('a plan that has changed', () => {
  it.each([
    ['of one client', 'user:ada'],
    ['of any client', undefined],
  ])('%s is asked anew by the next request, once', (_, tag) => {
    expect(setup.ask()).toBe(2);
    setup.resolve = () => 'big';
    expect(setup.ask()).toBe(2);
    setup.plans.forget(tag);
    expect(setup.lastKnown()).toBe(2);
    expect([setup.ask(), setup.ask()]).toEqual([3, 3]);
    expect(setup.asked).toHaveLength(2);
  });

  it('leaves other clients as they are, and those that were not met', () => {
    expect([setup.ask(), setup.ask('user:bob')]).toEqual([2, 2]);
    setup.resolve = () => 'big';
    setup.plans.forget('user:ada');
    setup.plans.forget('user:eve');
    expect(setup.ask('user:bob')).toBe(2);
  });

  it('is asked at once, also where the call before has failed', async () => {
    setup.resolve = () => Promise.reject(new Error('no database'));
    expect(await setup.ask()).toBe(3);
    setup.resolve = () => 'pro';
    expect(setup.ask()).toBe(3);
    setup.plans.forget('user:ada');
    expect(setup.ask()).toBe(2);
  });

  it('leaves the last known plan in force where the call fails', async () => {
    expect(setup.ask()).toBe(2);
    setup.resolve = () => Promise.reject(new Error('no database'));
    setup.plans.forget('user:ada');
    expect(await setup.ask()).toBe(2);
  });

  it.each([
    ['of one client', 'user:ada'],
    ['of any client', undefined],
  ])('%s is not what a call says that has begun before; those that wait for it get its answer', async (_, tag) => {
    const answers: ((plan: string) => void)[] = [];
    setup.resolve = () => new Promise((resolve) => void answers.push(resolve));
    const before = setup.ask();
    setup.plans.forget(tag);
    const after = setup.ask();
    answers[0]!('pro');
    expect(await before).toBe(2);
    answers[1]!('big');
    expect(await after).toBe(3);
    expect(setup.ask()).toBe(3);
    expect(setup.asked).toHaveLength(2);
  });

  it('does not free a place for one more call: those that hang still count', async () => {
    setup = new Setup({ maxCalls: 2 });
    setup.resolve = hang;
    for (let i = 0; i < 5; i++) {
      await setup.ask();
      setup.plans.forget('user:ada');
    }
    expect(setup.asked).toHaveLength(2);
  });
});

describe('bounds', () => {
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
    expect(setup.lastKnown()).toBe(3);
    void setup.ask();
    expect(setup.lastKnown()).toBe(2);
    setup.now = CACHE_FOR_MS * 5;
    expect(setup.lastKnown()).toBe(2);
    expect(setup.asked).toHaveLength(1);
    expect(setup.found).toEqual({ cache: 1, resolver: 1, lastKnown: 1, fallback: 1 });
  });
});
