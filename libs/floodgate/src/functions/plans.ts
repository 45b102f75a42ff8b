import type { RequestFunction, RequestOf } from '../identity/request-function.js';
import type { BoundPolicy } from '../policy/bound-policy.js';
import { isPromise } from '../util/is-promise.js';
import { ownText } from '../util/flat-text.js';
import { LruMap } from '../util/lru-map.js';
import { endedWithin } from '../stores/loop-timer.js';
import { LookedUpNumbers, wrongPlan } from './looked-up-numbers.js';
import type { UserFunctions } from './user-functions.js';

/** The module's option `plan`, checked. */
export interface PlanSettings<Context> {
  readonly resolve: RequestFunction<Context, unknown>;
  readonly cacheForMs: number;
  /** How long a request that the stand-in rejects waits at most, from the beginning of the call of `resolve`. */
  readonly timeoutMs: number;
  readonly fallback: string | undefined;
}

/** What `resolve` has said of a client: the name of a plan, numbers, or no plan. */
type Plan = string | LookedUpNumbers | undefined;

/** The source of a plan: see `PlanStats`. */
export type PlanSource = 'cache' | 'resolver' | 'lastKnown' | 'fallback';

/** Counts where plans come from, and failures. */
export interface PlanObserver {
  planFound(source: PlanSource): void;
}

/** Bounds and a clock, which tests replace. */
export interface PlanBounds {
  /** The most clients whose plans are kept: the most recent ones. */
  readonly maxClients: number;
  /** The most calls of `resolve` under way. */
  readonly maxCalls: number;
  /** Milliseconds of a clock that never steps. */
  readonly now: () => number;
  /** Resolves when work has ended, or `ms` milliseconds have passed. */
  readonly endedWithin: (ms: number, work: Promise<void>) => Promise<unknown>;
}

const BOUNDS: PlanBounds = { maxClients: 50_000, maxCalls: 10_000, now: () => performance.now(), endedWithin };

/** A resolver that has failed for a client is asked about that client again after this time. */
export const RETRY_MS = 1000;
/** Milliseconds after which an unsettled call of `resolve` is given up, and another one may begin. */
export const ABANDONED_MS = 30_000;
/** The share of `cacheFor` after which a request refreshes the plan in the background. */
export const REFRESH_AFTER = 0.75;
/** Longer texts are no plan, because no policy can have one of that name. */
const MAX_NAME = 64;

const WARNING = "plan.resolve failed, the client's last known plan or else the fallback counts";

/** One call of `resolve` for a client. */
interface PlanLookup {
  readonly since: number;
  /** The edition of the plans when the call began. */
  readonly edition: number;
  answered: boolean;
  /** The answer of the call. */
  plan: Plan;
  /** Whether the deadline has passed: no request waits for the call any more, but its answer is still used. */
  late: boolean;
  /** Settles with the call, and never rejects. Undefined for a call that has settled at once. */
  settled: Promise<void> | undefined;
  /** Settles with the call or at the deadline, and never rejects. */
  inTime: Promise<void> | undefined;
  /** Settles with the call or at the timeout. Undefined until a request waits for it. */
  beforeTimeout: Promise<unknown> | undefined;
}

interface Client {
  plan: Plan;
  /** Whether `resolve` has ever answered. */
  known: boolean;
  /** The edition of the plans when the answered call began. */
  edition: number;
  refreshAt: number;
  expiresAt: number;
  /** `resolve` is not called before this instant. */
  retryAt: number;
  call: PlanLookup | undefined;
}

/**
 * Finds the plan of a client, by the tag of the identity that a policy counts, and with it the policy's numbers. Plans are
 * cached. One call of `resolve` serves all requests of a client, and a request waits for it until the deadline at most. Then the last
 * known plan stands in, else the fallback. Only a request that does not fit this one waits on, until the timeout.
 */
export class Plans<Context> {
  private readonly clients: LruMap<Client>;
  /** The calls that have not settled, oldest first. */
  private readonly calls = new Set<PlanLookup>();
  private readonly bounds: PlanBounds;
  /** Changes when the plans of all clients may have changed. */
  private edition = 0;

  constructor(
    private readonly settings: PlanSettings<Context>,
    private readonly requestOf: RequestOf<Context>,
    private readonly functions: Pick<UserFunctions, 'within' | 'failed'>,
    private readonly observer: PlanObserver,
    bounds: Partial<PlanBounds> = {},
  ) {
    this.bounds = { ...BOUNDS, ...bounds };
    this.clients = new LruMap(this.bounds.maxClients);
  }

  /**
   * The policy under the plan of the request's client; a promise only if it has to wait for `resolve`.
   *
   * @param tag the identity that the policy counts
   */
  policyFor(
    policy: BoundPolicy<Context>,
    tag: string,
    context: Context,
  ): BoundPolicy<Context> | Promise<BoundPolicy<Context>> {
    const plan = this.planOf(policy, tag, context);
    return isPromise(plan) ? plan.then((later) => this.under(policy, later)) : this.under(policy, plan);
  }

  /** How a request waits for a plan that another one stands in for; undefined where the plan is known, or no longer waited for. */
  toCome(tag: string): (() => Promise<unknown>) | undefined {
    const client = this.clients.get(tag);
    const call = client?.call;
    if (call?.late !== true) return undefined;
    const { now, endedWithin: within } = this.bounds;
    const leftMs = (): number => call.since + this.settings.timeoutMs - now();
    if (this.isCurrent(client!, now()) || leftMs() <= 0) return undefined;
    return () => (call.beforeTimeout ??= within(Math.max(0, leftMs()), call.settled!));
  }

  /** The policy under the last known plan of a client, for calls without a request; else under the fallback. */
  underLastKnown(policy: BoundPolicy<Context>, tag: string): BoundPolicy<Context> {
    const client = this.clients.get(tag);
    if (client === undefined || !this.isCurrent(client, this.bounds.now())) {
      return this.under(policy, this.otherwise(client));
    }
    this.observer.planFound('cache');
    return this.under(policy, client.plan);
  }

  /**
   * Lets the next request of a client ask for its plan. Until the answer the plan that is known stays the last known one.
   *
   * @param tag undefined: those of all clients
   */
  forget(tag: string | undefined): void {
    if (tag === undefined) this.edition++;
    const client = tag === undefined ? undefined : this.clients.get(tag);
    if (client === undefined) return;
    client.expiresAt = client.retryAt = -Infinity;
    client.call = undefined; // it may answer what was true before
  }

  /** The policy under the plan that is known of a client, without counting the look-up. `isKnown` is false where it is the fallback. */
  look(
    policy: BoundPolicy<Context>,
    tag: string,
  ): { readonly numbers: BoundPolicy<Context>; readonly isKnown: boolean } {
    const { known = false, plan } = this.clients.get(tag) ?? {};
    return { numbers: this.under(policy, known ? plan : this.settings.fallback), isKnown: known };
  }

  /** Numbers of the look-up that do not fit a policy count as a failure once, and the fallback counts there. */
  private under(policy: BoundPolicy<Context>, plan: Plan): BoundPolicy<Context> {
    if (typeof plan !== 'object') return underPlan(policy, plan);
    return plan.under(policy, (error) => {
      this.functions.failed('plan', WARNING, error);
      return underPlan(policy, this.settings.fallback);
    });
  }

  private planOf(policy: BoundPolicy<Context>, tag: string, context: Context): Plan | Promise<Plan> {
    const now = this.bounds.now();
    let client = this.clients.get(tag);
    if (client !== undefined && this.isCurrent(client, now)) {
      this.observer.planFound('cache');
      const { plan } = client;
      if (now >= client.refreshAt) this.ask(client, policy, context, now);
      return plan;
    }
    if (client === undefined) this.clients.set(ownText(tag), (client = newClient()));
    const call = this.ask(client, policy, context, now);
    if (call?.inTime === undefined) return this.found(client, call);
    const asked = client;
    return call.inTime.then(() => this.found(asked, call));
  }

  private isCurrent({ edition, expiresAt }: Client, now: number): boolean {
    return edition === this.edition && now < expiresAt;
  }

  private found(client: Client, call: PlanLookup | undefined): Plan {
    if (call?.answered !== true) return this.otherwise(client);
    this.observer.planFound('resolver');
    return call.plan;
  }

  private otherwise(client: Client | undefined): Plan {
    const { known = false, plan } = client ?? {};
    this.observer.planFound(known ? 'lastKnown' : 'fallback');
    return known ? plan : this.settings.fallback;
  }

  /** Begins a call for the client, or joins the one under way. Undefined where no answer can be waited for. */
  private ask(client: Client, policy: BoundPolicy<Context>, context: Context, now: number): PlanLookup | undefined {
    const { call: before } = client;
    if (before?.edition === this.edition && now - before.since < ABANDONED_MS) return before.late ? undefined : before;
    if (now < client.retryAt) return undefined;
    if (before !== undefined && now - before.since >= ABANDONED_MS) this.calls.delete(before);
    const call: PlanLookup = {
      since: now,
      edition: this.edition,
      answered: false,
      plan: undefined,
      late: false,
      settled: undefined,
      inTime: undefined,
      beforeTimeout: undefined,
    };
    client.call = call;
    try {
      this.expectRoom(now);
      const returned = this.settings.resolve(this.requestOf(context), context);
      if (!isPromise(returned)) this.answered(client, call, policy, returned);
      else {
        this.calls.add(call);
        this.await(client, call, policy, returned);
      }
    } catch (error) {
      this.failed(client, call, error);
    }
    return call;
  }

  private await(client: Client, call: PlanLookup, policy: BoundPolicy<Context>, returned: PromiseLike<unknown>): void {
    call.settled = Promise.resolve(returned).then(
      (value) => this.answered(client, call, policy, value),
      (error: unknown) => this.failed(client, call, error),
    );
    call.inTime = this.functions.within(call.settled).catch((error: unknown) => {
      call.late = true;
      this.functions.failed('plan', WARNING, error);
    });
  }

  /** @param policy the one that asks: numbers that it cannot have are no answer */
  private answered(client: Client, call: PlanLookup, policy: BoundPolicy<Context>, value: unknown): void {
    try {
      call.plan = planOf(value);
      if (typeof call.plan === 'object') call.plan.under(policy, rethrow);
    } catch (error) {
      this.failed(client, call, error);
      return;
    }
    // The requests that wait for the call came before the call that has replaced it.
    call.answered = true;
    if (!this.ended(client, call)) return;
    client.plan = call.plan;
    client.known = true;
    client.edition = call.edition;
    // The time counts from the start of the call: the answer may be as old as that.
    client.expiresAt = call.since + this.settings.cacheForMs;
    client.refreshAt = call.since + this.settings.cacheForMs * REFRESH_AFTER;
  }

  private failed(client: Client, call: PlanLookup, error: unknown): void {
    if (!this.ended(client, call)) return;
    client.retryAt = this.bounds.now() + RETRY_MS;
    // A late call was counted as a failure at its deadline.
    if (!call.late) this.functions.failed('plan', WARNING, error);
  }

  /** Ends a call. Returns false if another call has replaced it. */
  private ended(client: Client, call: PlanLookup): boolean {
    this.calls.delete(call);
    if (client.call !== call) return false;
    client.call = undefined;
    return true;
  }

  /** Bounds the calls under way. Calls that never settle must fill neither the memory nor the queue of a hanging database. */
  private expectRoom(now: number): void {
    if (this.calls.size < this.bounds.maxCalls) return;
    const [oldest] = this.calls;
    if (now - oldest!.since < ABANDONED_MS) throw new Error(`${this.calls.size} calls of it are under way`);
    this.calls.delete(oldest!);
  }
}

/** The policy's variant for the plan. The policy itself for no plan, and for one that it does not have. */
export function underPlan<Context>(policy: BoundPolicy<Context>, plan: string | undefined): BoundPolicy<Context> {
  return plan === undefined ? policy : (policy.plans?.get(plan) ?? policy);
}

/** @throws {TypeError} for what is no plan */
function planOf(value: unknown): Plan {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'object') return new LookedUpNumbers(value);
  if (typeof value !== 'string') throw wrongPlan(value);
  return value.length > MAX_NAME ? undefined : ownText(value);
}

function rethrow(error: unknown): never {
  throw error;
}

function newClient(): Client {
  return {
    plan: undefined,
    known: false,
    edition: 0,
    refreshAt: 0,
    expiresAt: -Infinity,
    retryAt: -Infinity,
    call: undefined,
  };
}
