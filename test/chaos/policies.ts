import type { OnStoreFailure, Policy } from 'nestjs-floodgate';
import { perSecond } from '../../lab/textbook/arithmetic.js';
import {
  type Textbook,
  TextbookCounter,
  TextbookFixedWindow,
  TextbookLeakyBucket,
  TextbookLog,
  TextbookTokenBucket,
} from '../../lab/textbook/textbook.js';

/** A policy of the run with its textbook. */
export interface ChaosPolicy {
  readonly policy: Policy & { readonly onStoreFailure: OnStoreFailure };
  readonly by: 'global' | 'user' | 'address';
  /** @param share the number of processes that divide the limit */
  readonly textbook: (share: number) => Textbook;
}

const SECOND = 1_000_000;

/** The classes of the policies of direct calls, and their parts. */
export const CLASSES = { first: 1, second: 0.5 } as const;
export type Class = keyof typeof CLASSES;

/** All policies have scope `'app'`, so that routes and direct calls share their states. */
function counted(by: ChaosPolicy['by'], textbook: ChaosPolicy['textbook'], policy: object): ChaosPolicy {
  const counts = { by: by === 'address' ? 'ip' : by, scope: 'app' };
  return { by, textbook, policy: { ...policy, ...counts } as ChaosPolicy['policy'] };
}

function tokens(
  by: ChaosPolicy['by'],
  onStoreFailure: OnStoreFailure,
  capacity: number,
  refill: number,
  priorities?: object,
): ChaosPolicy {
  const textbook = (share: number): Textbook =>
    new TextbookTokenBucket(capacity / share, { tokens: refill, microseconds: SECOND * share });
  const more = priorities && { priorities };
  return counted(by, textbook, { algorithm: 'token-bucket', capacity, refill, onStoreFailure, ...more });
}

/** The number of processes that divide the limits. */
export const SHARE = 4;

/** Counts every charge that Redis makes: its `remaining` numbers them. */
export const LEDGER_LIMIT = 1_000_000_000;

export const POLICIES = {
  tokens: tokens('global', 'closed', 24, 16, CLASSES),
  queue: counted('global', () => new TextbookLeakyBucket(4, perSecond(8)), {
    algorithm: 'leaky-bucket',
    capacity: 4,
    drain: 8,
    onStoreFailure: 'closed',
  }),
  window: counted('global', (share) => new TextbookFixedWindow(40 / share, 2 * SECOND), {
    algorithm: 'fixed-window',
    limit: 40,
    window: '2s',
    onStoreFailure: 'local',
    priorities: CLASSES,
  }),
  log: counted('global', (share) => new TextbookLog(16 / share, SECOND), {
    algorithm: 'sliding-window-log',
    limit: 16,
    window: '1s',
    onStoreFailure: 'local',
    priorities: CLASSES,
  }),
  // More entries than a packed log has.
  'long-log': counted('global', (share) => new TextbookLog(160 / share, 10 * SECOND), {
    algorithm: 'sliding-window-log',
    limit: 160,
    window: '10s',
    onStoreFailure: 'closed',
  }),
  counter: counted('global', (share) => new TextbookCounter(40 / share, 2 * SECOND), {
    algorithm: 'sliding-window-counter',
    limit: 40,
    window: '2s',
    onStoreFailure: 'open',
    priorities: CLASSES,
  }),
  // What does not fit the quota runs over into the credits.
  quota: counted('global', (share) => new TextbookFixedWindow(16 / share, 2 * SECOND), {
    algorithm: 'fixed-window',
    limit: 16,
    window: '2s',
    onStoreFailure: 'local',
    else: 'credits',
  }),
  credits: tokens('global', 'local', 16, 4),
  rider: tokens('user', 'local', 8, 4),
  address: tokens('address', 'closed', 8, 2),
  // The module's middleware.
  gate: tokens('global', 'local', 400, 320),
  // Each identity sends one request, so that a second charge shows.
  once: {
    policy: { algorithm: 'fixed-window', limit: 5, window: '1h', onStoreFailure: 'open', scope: 'app' },
    by: 'user',
    textbook: () => new TextbookFixedWindow(5, 3600 * SECOND),
  },
  ledger: counted('global', () => new TextbookFixedWindow(LEDGER_LIMIT, 36_500 * 86_400 * SECOND), {
    algorithm: 'fixed-window',
    limit: LEDGER_LIMIT,
    window: '36500d',
    onStoreFailure: 'open',
  }),
} as const satisfies Readonly<Record<string, ChaosPolicy>>;

export type PolicyName = keyof typeof POLICIES;

/** Its leases outlive a run: nothing but a release, or an answer that comes late, gives a place back once its holder has renewed it. */
export const PLACES = {
  name: 'places',
  algorithm: 'concurrency',
  limit: 10_000,
  lease: '1h',
  by: 'global',
  onStoreFailure: 'open',
} as const satisfies Policy;
/** The longest time for which a place is held: it ends before the first renewal. */
export const HELD_MS = 1000;
/** A place whose answer or release is lost is free after this time. */
export const UNCONFIRMED_MS = 5000;

export function policyOf(name: PolicyName): ChaosPolicy {
  return POLICIES[name];
}

/** Whether requests of the policy have a class. */
export function hasClasses(name: PolicyName): boolean {
  return policyOf(name).policy.priorities !== undefined;
}

/** What a class leaves free of a process's share of a limit, or of the whole one. */
export function headroomOf(name: PolicyName, priority: Class | undefined, share: number): number {
  const { policy } = policyOf(name);
  if (priority === undefined || policy.priorities === undefined) return 0;
  const limit = ('limit' in policy ? policy.limit : policy.capacity) / share;
  return limit - Math.floor(limit * CLASSES[priority]);
}

/** The policies of each route of the application, besides the gate. */
export const ROUTES = {
  tokens: ['tokens', 'ledger'],
  queue: ['queue', 'ledger'],
  window: ['window', 'rider'],
  counter: ['counter'],
  address: ['address'],
  ride: ['rider', 'ledger'],
} as const satisfies Readonly<Record<string, readonly PolicyName[]>>;

export type RouteName = keyof typeof ROUTES;

/** The policies of direct calls, which use one or two of them with the ledger. */
export const DIRECT: readonly PolicyName[] = ['tokens', 'window', 'log', 'long-log', 'counter', 'quota', 'rider'];

/** The policies that a request was charged to: the one that its first policy has run over to stands in its place. */
export function withElse(
  policies: readonly PolicyName[],
  decided: Readonly<Record<string, unknown>>,
): readonly PolicyName[] {
  return policies.map((name) => {
    const next = policyOf(name).policy.else;
    return next !== undefined && next in decided ? (next as PolicyName) : name;
  });
}

/** Users that all pods serve. Other users send one request. */
export const RIDERS: readonly string[] = ['ada', 'bea', 'cem', 'dan', 'eve'];
/** Addresses of the loopback interface from which clients send requests. */
export const ADDRESSES: readonly string[] = ['127.0.0.2', '127.0.0.3', '127.0.0.4'];

/** The deadline in milliseconds. Several runs at once on two processors delay a decision by less. */
export const DEADLINE_MS = 200;
