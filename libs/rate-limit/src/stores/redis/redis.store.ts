import { shown } from '../../util/config-error.js';
import type { Logger } from '../../util/logger.js';
import { checkClock, checkMaxSkew, DEFAULT_SKEW_MS, wallClock } from '../clock.js';
import type { Deadlines } from '../deadlines.js';
import type { Denials, StoreObserver } from '../observers.js';
import type {
  Charge,
  ChargeReceipt,
  ChargeSettlement,
  Clock,
  RateLimitStore,
  RateLimitStoreError,
  SettledCharge,
  StoreStateChange,
  Verdict,
} from '../store.js';
import { ALWAYS_AVAILABLE, type Availability } from './availability.js';
import { Batcher } from './batcher.js';
import { watchClock } from './clock-skew.js';
import { Connection } from './connection.js';
import { CrossSlot } from './cross-slot.js';
import { isLingerMs, Linger, MAX_LINGER_MS } from './linger.js';
import { StoreRequest } from './pending-request.js';
import { Probe } from './probe.js';
import { isRedisClient, type NodesOfClient, type OwnedRedisClient, type RedisClient } from './redis-client.js';
import { NodeLanes } from './node-lanes.js';
import { NodeScript } from './node-script.js';
import { ClusterRouting, ONE_LANE } from './routing.js';
import { ShardSpread } from './shard-spread.js';
import { Script } from './script.js';
import { SlotRequests } from './slot-requests.js';
import { SLOTS } from './slots.js';

export interface RedisStoreOptions {
  /**
   * The clock that decides: `'redis'` (default) the server's, so that the pods' clocks do not matter; `'app'` the wall clock of
   * each pod; or your own clock in microseconds since 1970, for tests.
   */
  clock?: 'redis' | 'app' | Clock;
  /**
   * How far the clocks of pods may be apart: 0 to 10,000 milliseconds, default 1,000. Has no effect with Redis's clock. The
   * limits then hold up to the skew.
   */
  maxSkewMs?: number;
  /**
   * How long a request may wait for others to share a call to Redis: 0 (default) to 5 whole milliseconds. Requests wait only while
   * enough others come. See docs/redis.md, "Let requests wait for each other".
   */
  lingerMs?: number;
  /** @internal Fails requests that Redis does not answer in time. Default: a request waits as long as the client does. */
  deadlines?: Deadlines;
  /** @internal */
  denials?: Denials;
  /** @internal */
  observer?: StoreObserver;
  /** @internal Set for a client that belongs to the store: the store connects, watches and closes it. */
  owned?: OwnedClientOptions;
}

/** What a store needs for a client of its own. */
export interface OwnedClientOptions {
  /** The key of a probe, under the key prefix; the number tells one probe from another. */
  readonly probeKey: (number: number) => string;
  readonly logger: Logger;
  /** Called when Redis, or a node of its Cluster, becomes unavailable or available again. */
  readonly onStateChange?: (change: StoreStateChange) => unknown;
}

/**
 * Decides in Redis, atomically for all pods, with one Lua program. The requests of one turn of the event loop travel together.
 *
 * The store uses the client as it is, and leaves it open.
 *
 * @example RateLimitModule.forRoot({ store: new RedisStore(client, { clock: 'app' }) })
 */
export class RedisStore implements RateLimitStore {
  readonly supports: RateLimitStore['supports'];
  /** @internal Overrides share it. */
  readonly client: RedisClient;
  /** @internal Undefined unless the client is a Cluster's. */
  readonly lanes: NodeLanes | undefined;
  private readonly script: Script;
  private readonly batcher: Batcher;
  private readonly availability: Availability;
  /** Undefined unless the client belongs to the store. */
  private readonly connection: Connection | undefined;
  /** All undefined unless the client is a Cluster's. */
  private readonly cluster: ClusterRouting | undefined;
  private readonly crossSlot: CrossSlot | undefined;
  private readonly slotRequests: SlotRequests | undefined;
  private readonly deadlines: Deadlines | undefined;

  /**
   * @throws {TypeError} when `client` is no client
   * @throws {RangeError} when an option is out of its range
   */
  constructor(client: RedisClient, options: RedisStoreOptions = {}) {
    this.client = client;
    const { clock = 'redis', maxSkewMs = DEFAULT_SKEW_MS, lingerMs, deadlines, denials, observer, owned } = options;
    if (!isRedisClient(client)) throw new TypeError('RedisStore: takes a client with evalsha, eval and del');
    const appClock = clockOf(clock);
    // A lease ends by the store's clock: those of pods may be apart.
    this.supports = clock === 'app' ? ['shadow', 'block'] : ['shadow', 'block', 'lease'];
    const maxSkew = checkMaxSkew('RedisStore', maxSkewMs);
    const settings = { clock: appClock, maxSkew: appClock === undefined ? 0 : maxSkew, deadlines };
    this.script = new Script(client, settings);
    const keyPrefix = client.options?.keyPrefix ?? '';
    const lanes = (this.lanes =
      client.isCluster === true
        ? new NodeLanes(client as NodesOfClient, {
            script: new NodeScript(keyPrefix, settings),
            keyPrefix,
            probeKey: owned?.probeKey,
            logger: owned?.logger,
          })
        : undefined);
    const cluster = (this.cluster = lanes && new ClusterRouting(keyPrefix, lanes));
    if (owned !== undefined) {
      const { probeKey, logger, onStateChange } = owned;
      const own = client as OwnedRedisClient;
      const listeners = { logger, observer, onChange: onStateChange };
      const probe = new Probe(this.script, deadlines, probeKey);
      this.connection = new Connection(own, probe, cluster, deadlines?.ms ?? 0, listeners);
      if (lanes !== undefined) own.on('ready', () => lanes.probeAll());
      if (clock === 'app') watchClock(own, maxSkewMs, logger);
    }
    this.deadlines = deadlines;
    this.availability = this.connection ?? ALWAYS_AVAILABLE;
    this.batcher = new Batcher({
      decide: (batch, question) =>
        lanes !== undefined && batch.lane >= SLOTS
          ? lanes.decide(batch, question)
          : this.script.decide(batch, question),
      routing: cluster ?? ONE_LANE,
      availability: this.availability,
      deadlines,
      denials,
      observer,
      settlesLate: cluster !== undefined,
      linger: lingerOf(lingerMs),
      cork: lanes && (() => lanes.cork()),
      bySlot: cluster && { ask: (requests, question) => this.slotRequests!.ask(requests, question) },
    });
    if (cluster !== undefined) {
      this.crossSlot = new CrossSlot({
        routing: cluster,
        add: (pending) => this.batcher.add(pending),
        refund: (receipts) => void this.refund(receipts),
        deadlines,
        denials,
        turn: () => this.batcher.turn,
        spread: owned && new ShardSpread(client as OwnedRedisClient, cluster, owned.logger),
      });
      this.slotRequests = new SlotRequests({
        routing: cluster,
        decide: (batch, question) => this.script.decide(batch, question),
        crossSlot: this.crossSlot,
        availability: this.availability,
        deadlines,
        denials,
        observer,
        cork: () => lanes!.cork(),
      });
    }
  }

  /**
   * Decides one request. Throws at once, without sending anything, while Redis or a node that the request needs is
   * unavailable.
   */
  consume(charges: readonly Charge[]): Promise<Verdict> {
    let unavailable = this.availability.check(charges);
    // Without the node of a shadow the others still decide.
    if (unavailable !== undefined && this.crossSlot !== undefined) {
      unavailable = this.availability.check(charges.filter(({ shadow }) => shadow !== true));
    }
    if (unavailable !== undefined) throw unavailable;
    if (this.crossSlot?.isNeededFor(charges) === true) return this.crossSlot.decide(charges);
    return new Promise((resolve, reject) => this.batcher.add(new StoreRequest(charges, resolve, reject)));
  }

  async reset(keys: readonly string[]): Promise<void> {
    this.batcher.flush(); // requests made before the reset are decided before it
    await Promise.all(keys.map((key) => this.client.del(key))); // one by one: their slots may differ
  }

  /** Refunds charges: each is sent once and never again, so a lost refund stays charged. */
  async refund(taken: readonly ChargeReceipt[]): Promise<void> {
    // One by one: their slots may differ, and none depends on another.
    await Promise.allSettled(
      taken.map(async (receipt) => this.script.settle([{ receipt, finalCost: 0, overdraft: 0 }])),
    );
  }

  /** Settles in one call; on a Cluster in one for each slot. Each is sent once and never again. */
  async settle(settlements: readonly ChargeSettlement[]): Promise<(SettledCharge | undefined)[]> {
    const { cluster } = this;
    const slots = new Map<number, ChargeSettlement[]>();
    for (const settlement of settlements) {
      const slot = cluster === undefined ? 0 : cluster.slotOf(settlement.receipt.key);
      const others = slots.get(slot);
      if (others === undefined) slots.set(slot, [settlement]);
      else others.push(settlement);
    }
    this.batcher.flush(); // charges that were made before are decided before
    const settled = new Map<ChargeSettlement, SettledCharge>();
    const calls = Array.from(slots, async ([slot, all]) => {
      const answers = await this.settleSlot(slot, all);
      for (const [i, settlement] of all.entries()) settled.set(settlement, answers[i]!);
    });
    const failure = (await Promise.allSettled(calls)).find((call) => call.status === 'rejected');
    if (failure !== undefined && settled.size === 0) throw failure.reason;
    return settlements.map((settlement) => settled.get(settlement));
  }

  private settleSlot(slot: number, settlements: readonly ChargeSettlement[]): Promise<SettledCharge[]> {
    const { availability, deadlines, script } = this;
    const unavailable = availability.checkLane(slot);
    if (unavailable !== undefined) return Promise.reject(unavailable);
    return new Promise((resolve, reject) => {
      const question = deadlines?.ask((error) => reject(availability.failed(error, slot)));
      script.settle(settlements, question).then(
        (settled) => {
          if (question !== undefined) deadlines?.answered(question);
          availability.answered(slot);
          resolve(settled);
        },
        (error: Error) => {
          const late = question !== undefined && question.fail === undefined;
          if (question !== undefined) deadlines?.answered(question);
          if (!late) reject(availability.failed(error, slot));
        },
      );
    });
  }

  /** @internal A call beside the decisions, of this key, was not answered in time: it counts as a decision that was not. */
  missed(key: string, error: RateLimitStoreError): void {
    this.availability.failed(error, this.cluster?.slotOf(key) ?? 0);
  }

  /** Connects a client that belongs to the store. Any other client connects by itself. */
  async connect(): Promise<void> {
    await this.connection?.open();
  }

  /** Closes a client that belongs to the store. Any other client is left open. */
  async close(): Promise<void> {
    this.batcher.flush(); // requests that wait for others are still decided
    await this.connection?.close();
  }
}

/** @throws {RangeError} when it is out of its range */
function lingerOf(ms = 0): Linger | undefined {
  if (!isLingerMs(ms)) {
    throw new RangeError(
      `RedisStore: lingerMs must be whole milliseconds from 0 to ${MAX_LINGER_MS}, got ${shown(ms)}`,
    );
  }
  return ms === 0 ? undefined : new Linger(ms);
}

/** The clock that the script decides with; undefined: Redis's own. */
function clockOf(clock: NonNullable<RedisStoreOptions['clock']>): Clock | undefined {
  if (clock === 'redis') return undefined;
  if (clock === 'app') return wallClock;
  if (typeof clock === 'function') return checkClock('RedisStore', clock);
  throw new RangeError(`RedisStore: clock must be 'redis', 'app' or a function, got ${shown(clock)}`);
}
