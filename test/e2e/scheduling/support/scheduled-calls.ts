import {
  type Identity,
  type Policy,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimitOverrides,
  type RateLimitStore,
} from 'nestjs-floodgate';
import type {
  Charge,
  ChargeReceipt,
  ChargeSettlement,
  Clock,
  SettledCharge,
  Timer,
  Verdict,
} from 'nestjs-floodgate/testing';
import { VirtualClock, VirtualStore } from 'nestjs-floodgate/testing';
import { start } from '../../../support/http-app.js';
import { RateLimitRuntime } from '../../../support/runtime.js';

export const POLICIES = {
  partner: { algorithm: 'token-bucket', capacity: 2, refill: 1, by: 'global' },
  window: { algorithm: 'fixed-window', limit: 100, window: '1m', by: 'global' },
  line: { algorithm: 'leaky-bucket', capacity: 20, drain: 1, by: 'global' },
  even: { algorithm: 'leaky-bucket', capacity: 3, drain: 1, by: 'global' },
  slots: { algorithm: 'concurrency', limit: 2, lease: '30s', by: 'global' },
  tokens: { algorithm: 'token-bucket', capacity: 1_000, refill: '1/h', by: 'global' },
  priced: {
    algorithm: 'token-bucket',
    capacity: 1_000,
    refill: '1/h',
    by: 'global',
    cost: 100,
    settle: ({ value, error }) => (error === undefined ? (value as number) : 0),
  },
  user: { algorithm: 'token-bucket', capacity: 2, refill: 1, by: 'user' },
  classed: {
    algorithm: 'token-bucket',
    capacity: 4,
    refill: 1,
    by: 'global',
    priorities: { high: 1, low: 0.5 },
  },
} as const satisfies Record<string, Policy>;
export const ADA: Identity = { kind: 'user', value: 'ada' };
export const BOB: Identity = { kind: 'user', value: 'bob' };

/** A store on a virtual clock that counts its questions, and whose answers a test can hold back. */
export class AskedStore implements RateLimitStore {
  questions = 0;
  fails = false;
  readonly supports = ['shadow', 'block', 'headroom'] as const;
  readonly timer: Timer;
  readonly clock: Clock;
  private readonly inner: VirtualStore;
  private held: (() => void)[] | undefined;

  constructor(clock: VirtualClock) {
    this.inner = new VirtualStore(clock);
    this.timer = clock.timer;
    this.clock = clock.read;
  }

  consume(charges: readonly Charge[]): Verdict | Promise<Verdict> {
    if (charges.some(({ mode }) => mode !== 'peek')) this.questions++;
    if (this.fails) throw new Error('gone');
    const verdict = this.inner.consume(charges);
    const { held } = this;
    return held === undefined ? verdict : new Promise<Verdict>((resolve) => held.push(() => resolve(verdict)));
  }

  reset(keys: readonly string[]): void {
    this.inner.reset(keys);
  }

  refund(receipts: readonly ChargeReceipt[]): void {
    this.inner.refund(receipts);
  }

  settle(settlements: readonly ChargeSettlement[]): readonly SettledCharge[] {
    return this.inner.settle(settlements);
  }

  hold(): void {
    this.held = [];
  }

  release(): void {
    for (const answer of this.held?.splice(0) ?? []) answer();
    this.held = undefined;
  }
}

export interface Opened extends AsyncDisposable {
  readonly limiter: RateLimiter;
  readonly overrides: RateLimitOverrides;
  readonly clock: VirtualClock;
  readonly store: AskedStore;
  readonly runtime: RateLimitRuntime;
  readonly close: () => Promise<void>;
  /** Schedules a call that notes when it runs. */
  readonly call: (
    policy: string | readonly string[],
    name: string,
    options?: object,
    who?: Identity,
  ) => Promise<string>;
  /** What ran, with the seconds at which it did. */
  readonly ran: string[];
}

export async function open(options: RateLimitModuleOptions = {}): Promise<Opened> {
  const clock = new VirtualClock();
  const store = new AskedStore(clock);
  const app = await start('Express', {
    imports: [RateLimitModule.forRoot({ policies: POLICIES, denialCache: 0, ...options, store })],
  });
  const limiter = app.app.get(RateLimiter);
  const ran: string[] = [];
  const since = clock.nowMs;
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (isOpen) await app[Symbol.asyncDispose]();
    isOpen = false;
  };
  return {
    limiter,
    overrides: app.app.get(RateLimitOverrides),
    clock,
    store,
    runtime: app.app.get(RateLimitRuntime),
    ran,
    close,
    call: (policy, name, more = {}, who) => {
      const run = (): string => {
        ran.push(`${name}@${(clock.nowMs - since) / 1000}`);
        return name;
      };
      const called = limiter.schedule(policy, who ?? null, run, more);
      called.catch(() => undefined); // the test looks at it later
      return called;
    },
    [Symbol.asyncDispose]: close,
  };
}

/** Lets everything run that is due. */
export async function turns(count = 4): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Advances the clock in steps, as time passes. */
export async function pass(clock: VirtualClock, ms: number, step = 100): Promise<void> {
  for (let passed = 0; passed < ms; passed += step) {
    clock.advance(Math.min(step, ms - passed));
    await turns();
  }
}
