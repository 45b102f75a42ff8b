import type { Logger } from '../../util/logger.js';
import type { Deadlines } from '../deadlines.js';
import type { Denials, StoreObserver } from '../denials.js';
import type {
  Charge,
  ChargeReceipt,
  ChargeSettlement,
  RateLimitStore,
  RateLimitStoreError,
  SettledCharge,
  StoreStateChange,
  Verdict,
} from '../store.js';
import { withinLoopTime } from '../loop-timer.js';
import type { StoreTraits } from '../traits.js';
import { watchClock } from './connection/clock-skew.js';
import { Connection, REQUIRED_PATIENCE_MS, requiredError } from './connection/connection.js';
import type { Availability } from './batch/availability.js';
import type { Lane } from './batch/lane.js';
import { storeClientOf } from './clients/adapters.js';
import type { OwnedClient, StoreClient } from './clients/client.js';
import type { NodeRedisClient, RedisClient } from './clients/redis-client.js';
import { Cluster } from './cluster/cluster.js';
import { Probe } from './connection/probe.js';
import { OneServer } from './one-server.js';
import { RedisOverrideLog } from './override-log.js';
import { RedisReportBoard } from './report-board.js';
import { RedisReservationLog } from './reservation-log.js';
import { Returns } from './returns.js';
import { Script } from './batch/script.js';
import { Unanswered } from './connection/unanswered.js';
import { type RedisStoreSettings, supportsOf } from './store-options.js';
import type { StoreQueue, Topology } from './topology.js';

const NOT_CONNECTED =
  'The client that was given is not connected, and has no duplicate(): connect it in the application, before the boot, as in await client.connect()';

/** What the module gives a store that it opens. */
export interface RedisStoreParts {
  /** Fails requests that Redis does not answer in time. Default: a request waits as long as the client does. */
  readonly deadlines?: Deadlines | undefined;
  readonly denials?: Denials | undefined;
  readonly observer?: StoreObserver | undefined;
  /** How errors of `connect` begin. Default `'redis'`. */
  readonly where?: string | undefined;
  /** The key of a probe: `connect` rejects unless Redis can decide. */
  readonly required?: ((number: number) => string) | undefined;
  /** Set for a client that belongs to the store: the store connects, watches and closes it. */
  readonly owned?: OwnedClientOptions | undefined;
}

/** What a store needs for a client of its own. */
export interface OwnedClientOptions {
  /** The key of a probe, under the key prefix; the number tells one probe from another. */
  readonly probeKey: (number: number) => string;
  readonly logger: Logger;
  /** Called when Redis, or a node of its Cluster, becomes unavailable or available again. */
  readonly onStateChange?: (change: StoreStateChange) => unknown;
}

/** A `RedisStore`, once it is loaded: what decides in Redis. The module opens it with parts of its own. */
export class LoadedRedisStore implements RateLimitStore {
  readonly supports: RateLimitStore['supports'];
  readonly traits: Partial<StoreTraits>;
  /** Overrides share it. */
  readonly client: StoreClient;
  /** One server, or a Cluster. */
  readonly topology: Topology;
  private readonly script: Script;
  private readonly queue: StoreQueue;
  private readonly returns: Returns;
  private readonly availability: Availability;
  /** Undefined unless the client belongs to the store. */
  private readonly connection: Connection | undefined;
  /** Undefined where the client belongs to the store: its connection bounds what waits. */
  private readonly unanswered: Unanswered | undefined;
  /** Undefined unless the boot needs Redis. Without a deadline: the first answer may take longer. */
  private readonly required: Probe | undefined;
  private readonly where: string;
  isClosed = false;
  /** What a client of node-redis tells of its connection. */
  private readonly given: Partial<Pick<NodeRedisClient, 'isOpen'>>;

  constructor(
    client: RedisClient | OwnedClient,
    { clock, byPods, maxSkew }: RedisStoreSettings,
    { deadlines, denials, observer, owned, required, where = 'redis' }: RedisStoreParts = {},
  ) {
    this.client = storeClientOf(client);
    this.where = where;
    this.given = client as Partial<NodeRedisClient>;
    this.supports = supportsOf({ byPods });
    this.returns = new Returns({
      settle: (settlement, isSure) => this.queue.settle(settlement, isSure),
      idle: () => this.queue.idle(),
      isAvailable: (key) => this.availability.checkLane(this.topology.laneOfKey(key)) === undefined,
      clock,
    });
    this.traits = {
      answersAtOnce: false,
      keepsDeadline: deadlines !== undefined,
      notesDenials: denials !== undefined,
      decidePatiently: (charges) => this.queue.decide(charges, true),
      decidesAlternatives: (charges) => this.topology.decidesAlternatives(charges),
      server: 'Redis',
      slots: this.returns.slots,
      idle: () => this.queue.idle(),
      overrideLog: (keyOf) => new RedisOverrideLog(this, keyOf),
      reportBoard: (keyOf) => new RedisReportBoard(this.client, keyOf),
      reservationLog: (keyOf) => new RedisReservationLog(this, keyOf, clock && { read: clock, maxSkew }),
      whyNoPrefetch: byPods ? `prefetch needs Redis's clock, and clock is 'app': leave one of them out` : undefined,
    };
    const settings = { clock, maxSkew: clock === undefined ? 0 : maxSkew };
    this.script = new Script(this.client, settings);
    this.required = required && new Probe(this.script, undefined, required);
    const own = owned && { ...owned, client: this.client as OwnedClient };
    const { cluster } = this.client;
    const topology = (this.topology =
      cluster === undefined
        ? new OneServer(this.script)
        : new Cluster(this.client, cluster, this.script, settings, own));
    if (own !== undefined) {
      const { probeKey, logger, onStateChange } = own;
      const listeners = { logger, observer, onChange: onStateChange };
      const probe = new Probe(this.script, deadlines, probeKey);
      const deadlineMs = deadlines?.ms ?? 0;
      const nodes = topology.watch(probe, deadlineMs, listeners);
      this.connection = new Connection(own.client, probe, nodes, deadlineMs, listeners);
      if (byPods) watchClock(own.client, maxSkew / 1000, logger);
    }
    const unanswered = (this.unanswered =
      this.connection === undefined ? new Unanswered((charge) => topology.laneOfCharge(charge)) : undefined);
    this.availability = this.connection ?? unanswered!;
    this.queue = topology.queue({
      availability: this.availability,
      decide: unanswered && ((lane, batch, call) => unanswered.call(lane, batch.size, () => lane.decide(batch, call))),
      deadlines,
      denials,
      observer,
      refund: (receipts, isSure) => this.returns.refund(receipts, () => undefined, isSure),
    });
  }

  /**
   * Decides one request. Throws at once, without sending anything, while Redis or a node that the request needs is
   * unavailable.
   */
  consume(charges: readonly Charge[]): Promise<Verdict> {
    return this.queue.decide(charges);
  }

  async reset(keys: readonly string[]): Promise<number> {
    this.queue.flush(); // requests made before the reset are decided before it
    // One call for each key: their slots may differ.
    const calls = keys.map(async (key) => this.call(this.topology.laneOfKey(key), 1, () => this.client.del(key)));
    return (await Promise.all(calls)).reduce<number>((found, one) => found + Number(one), 0);
  }

  /** Refunds charges. Only what Redis has certainly not run is sent again, so a lost refund stays charged. */
  refund(taken: readonly ChargeReceipt[]): Promise<void> {
    return new Promise((resolve) => this.returns.refund(taken, resolve));
  }

  /** Settles all or none; on a Cluster in each slot. Only what Redis has certainly not run is sent again. */
  settle(settlements: readonly ChargeSettlement[]): Promise<readonly (SettledCharge | undefined)[]> {
    if (settlements.length === 1) return this.returns.settle(settlements);
    const lanes = new Set(settlements.map(({ receipt }) => this.topology.laneOfKey(receipt.key)));
    return lanes.size === 1 ? this.returns.settle(settlements) : this.settleBySlot(settlements, [...lanes]);
  }

  private async settleBySlot(
    settlements: readonly ChargeSettlement[],
    lanes: readonly Lane[],
  ): Promise<readonly (SettledCharge | undefined)[]> {
    const settled = new Map<ChargeSettlement, SettledCharge>();
    const calls = lanes.map(async (lane) => {
      const own = settlements.filter(({ receipt }) => this.topology.laneOfKey(receipt.key) === lane);
      const answers = await this.returns.settle(own);
      for (const [i, settlement] of own.entries()) settled.set(settlement, answers[i]!);
    });
    const failure = (await Promise.allSettled(calls)).find((call) => call.status === 'rejected');
    if (failure !== undefined && settled.size === 0) throw failure.reason;
    return settlements.map((settlement) => settled.get(settlement));
  }

  /**
   * Reports a missed deadline of another call, such as one of the override log, to the breaker of the key's server.
   */
  missed(key: string, error: RateLimitStoreError): void {
    this.availability.failed(error, this.topology.laneOfKey(key));
  }

  /** Sends a call other than a decision, unless too many requests wait in the application's client. */
  private call<T>(lane: Lane, requests: number, run: () => Promise<T>): Promise<T> {
    const { unanswered } = this;
    if (unanswered === undefined) return run();
    const unavailable = unanswered.checkLane(lane);
    return unavailable === undefined ? unanswered.call(lane, requests, run) : Promise.reject(unavailable);
  }

  /**
   * Connects a client that belongs to the store. Any other client connects by itself.
   *
   * @throws {RateLimitConfigError} when Redis refuses the database, or cannot decide and has to
   */
  async connect(): Promise<void> {
    if (this.connection !== undefined) return this.connection.open(this.where, this.required);
    const { required } = this;
    if (required === undefined) return;
    const answer = required.ask(required.keyOf(0), undefined);
    await withinLoopTime(REQUIRED_PATIENCE_MS, answer).catch((error: Error) => {
      throw requiredError(
        this.given.isOpen === false ? `${error.message}. ${NOT_CONNECTED}` : error.message,
        this.where,
      );
    });
  }

  /** Closes a client that belongs to the store. Any other client is left open. */
  async close(): Promise<void> {
    this.isClosed = true;
    const returned = this.returns.close();
    this.queue.flush(); // requests that wait for others are still decided
    await returned;
    await this.connection?.close();
  }
}
