import { type ExecutionContext, Injectable, type Type, UseGuards } from '@nestjs/common';
import {
  type ConcurrencyPolicy,
  type FixedWindowPolicy,
  type LeakyBucketPolicy,
  type Outcome,
  type PolicySource,
  RateLimit,
  RateLimitGuard,
  type RateLimitModuleExtras,
  type RateLimitModuleOptions,
  type RateLimitStore,
  type TokenBucketPolicy,
} from 'nestjs-floodgate';

/** Holds what passes while it is closed. */
export class Gate {
  /** How many have come to it since it was closed. */
  arrived = 0;
  private waiting: (() => void)[] = [];
  private closed = false;

  pass<T>(value: T): T | Promise<T> {
    if (!this.closed) return value;
    this.arrived++;
    return new Promise((resolve) => this.waiting.push(() => resolve(value)));
  }

  close(): void {
    this.closed = true;
    this.arrived = 0;
  }

  /** Opens it for others: those that wait never pass. */
  lose(): void {
    this.closed = false;
    this.waiting = [];
  }

  open(): void {
    this.closed = false;
    for (const pass of this.waiting.splice(0)) pass();
  }
}

/** Where a request can be held on its way. */
export type Place = 'guard' | 'identity' | 'store' | 'handler' | 'stream';

/** The handlers of every transport. */
export type Work = 'work' | 'queue' | 'stream';

/** What happens in the application under test. One object for a file: decorators need their functions before there is an application. */
class Stage {
  readonly gates: Readonly<Record<Place, Gate>> = {
    guard: new Gate(),
    identity: new Gate(),
    store: new Gate(),
    handler: new Gate(),
    stream: new Gate(),
  };
  /** What `countIf` and `settle` were called with. */
  readonly counted: Outcome[] = [];
  readonly settled: Outcome[] = [];
  /** The requests that the limiter let pass, and so charged. */
  charged = 0;
  /** The requests that the guard has let pass or refused. */
  judged = 0;
  /** The calls of handlers. */
  entered = 0;
  /** What the handlers return. */
  value: unknown = undefined;
  /** Called with every context that reaches the guard. */
  seen: ((context: ExecutionContext) => void) | undefined;

  reset(value: unknown): void {
    for (const gate of Object.values(this.gates)) gate.open();
    this.value = value;
    this.seen = undefined;
    this.forget();
  }

  /** Forgets what was counted so far. */
  forget(): void {
    this.counted.length = this.settled.length = 0;
    this.charged = this.judged = this.entered = 0;
  }

  /** The body of a handler. */
  async work(): Promise<unknown> {
    this.entered++;
    return this.gates.handler.pass(this.value);
  }

  /** The body of a handler that streams: `first`, and after the gate `last`. */
  async *items<T>(first: T, last: T): AsyncGenerator<T, void> {
    this.entered++;
    await this.gates.handler.pass(undefined);
    yield first;
    await this.gates.stream.pass(undefined);
    yield last;
  }
}

export const stage = new Stage();

/** The identity of all clients. */
export const CROWD = { kind: 'crowd', value: 'all' } as const;

const COUNTS = { algorithm: 'fixed-window', limit: 10_000, window: '300d', scope: 'app' } as const;
const by = (): typeof CROWD | Promise<typeof CROWD> => stage.gates.identity.pass(CROWD);

/** Its leases outlive any test: nothing but a release frees a place. */
export const PLACES = {
  name: 'places',
  algorithm: 'concurrency',
  limit: 2_000,
  lease: '1h',
  scope: 'app',
} as const satisfies ConcurrencyPolicy;
export const COUNTED = { ...COUNTS, name: 'counted' } as const satisfies FixedWindowPolicy;
export const SETTLED = {
  name: 'settled',
  algorithm: 'token-bucket',
  capacity: 10_000,
  refill: '1/h',
  scope: 'app',
} as const satisfies TokenBucketPolicy;
/** One slot an hour: only the first request passes during a test. */
export const QUEUE = {
  name: 'queue',
  algorithm: 'leaky-bucket',
  capacity: 2_000,
  drain: '1/h',
  scope: 'app',
} as const satisfies LeakyBucketPolicy;
export const RESERVED_COST = 3;
export const FINAL_COST = 1;

const EACH: readonly [PolicySource, ...PolicySource[]] = [
  { ...PLACES, by },
  {
    ...COUNTED,
    by,
    countIf: (outcome) => {
      stage.counted.push(outcome);
      return outcome.aborted;
    },
  },
  {
    ...SETTLED,
    by,
    cost: RESERVED_COST,
    settle: (outcome) => {
      stage.settled.push(outcome);
      return FINAL_COST;
    },
  },
];

/** The policies of each handler. */
export const POLICIES: Readonly<Record<Work, readonly [PolicySource, ...PolicySource[]]>> = {
  work: EACH,
  stream: EACH,
  queue: [...EACH, { ...QUEUE, by }],
};

/** Limits a method by the policies of `work`. */
export function Limited(work: Work): MethodDecorator {
  return RateLimit(...POLICIES[work]);
}

/** The handlers of a transport without a stream. */
export const PLAIN: readonly Work[] = ['work', 'queue'];

/**
 * A class with one limited handler for each work.
 *
 * @param decorate makes the decorators of the transport that mark a handler
 * @param bodyOf what the handler does; default: what the stage says
 */
export function handlers(
  works: readonly Work[],
  decorate: (work: Work) => MethodDecorator,
  bodyOf: (work: Work) => (...args: never[]) => unknown = () => () => stage.work(),
): Type<Readonly<Record<string, (...args: unknown[]) => unknown>>> {
  class Handlers {}
  for (const work of works) {
    const body = bodyOf(work);
    const method = { [work]: (...args: never[]): unknown => body(...args) }[work];
    const descriptor = { value: method, writable: true, configurable: true };
    Limited(work)(Handlers.prototype, work, descriptor);
    decorate(work)(Handlers.prototype, work, descriptor);
    Object.defineProperty(Handlers.prototype, work, descriptor);
  }
  UseGuards(GatedGuard)(Handlers);
  return Handlers as never;
}

/** The library's guard behind a gate of the application. */
@Injectable()
export class GatedGuard extends RateLimitGuard {
  override canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    stage.seen?.(context);
    const passed = stage.gates.guard.pass(true);
    return passed === true ? this.judge(context) : passed.then(() => this.judge(context));
  }

  private judge(context: ExecutionContext): boolean | Promise<boolean> {
    const judged = (): void => void stage.judged++;
    try {
      const answer = super.canActivate(context);
      if (typeof answer === 'boolean') judged();
      else answer.then(judged, judged);
      return answer;
    } catch (error) {
      judged();
      throw error;
    }
  }
}

/** The module's options for handlers behind `GatedGuard`. */
export function optionsWith(store: RateLimitStore): RateLimitModuleOptions & RateLimitModuleExtras {
  return {
    store,
    guard: false,
    deadline: 10_000, // the gates stay closed as long as a busy machine needs
    maxWaiting: 1_000,
    maxWaitingPerClient: 1_000,
    onDecision: ({ decision, route }) => {
      if (decision.allowed && route !== undefined) stage.charged++;
    },
  };
}
