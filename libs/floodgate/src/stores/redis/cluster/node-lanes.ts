import { withHelp } from '../../../util/error-codes.js';
import type { Logger } from '../../../util/logger.js';
import { withinLoopTime } from '../../loop-timer.js';
import { Batch } from '../batch/batch.js';
import { NotRunError } from '../batch/not-run-error.js';
import type { NodeScript } from './node-script.js';
import type { BatchCall, Lane } from '../batch/lane.js';
import { PROBE } from '../connection/probe.js';
import { isErrorReply } from '../clients/client-failure.js';
import type { ClusterMap, ConnectionSocket, RedisConnection } from '../clients/client.js';
import { slotOf } from '../../slots.js';
import { unawaited } from '../../../util/unawaited.js';

/** Names tried to find keys in two slots of a node. A node with too few slots for that gains little from batches. */
const MAX_PROBE_KEYS = 4096;
/** Milliseconds that a probe may take. */
const PATIENCE_MS = 1000;
/** Milliseconds until a node is probed again that did not answer. */
const RETRY_MS = 1000;
/** Milliseconds until a server that forbids undeclared keys is probed again; doubled each time. An operator may grant the right meanwhile. */
const FORBIDDEN_MS = 10_000;
const MAX_FORBIDDEN_MS = 300_000;

/** One connection to a node, and whether requests for any of its slots may share a call. */
export class NodeLane implements Lane {
  /** Whether a probe has succeeded. */
  usable = false;
  probing = false;
  /** When the next probe may be sent: milliseconds of the monotonic clock. */
  probeAt = 0;
  forbiddenMs = FORBIDDEN_MS;
  /** Undefined once the connection was replaced. */
  node: string | undefined;

  /** @param forbid called when the server forbids keys that were not declared */
  constructor(
    readonly address: string,
    readonly connection: RedisConnection,
    private readonly script: NodeScript,
    private readonly forbid: (lane: NodeLane, error: Error) => void,
  ) {
    this.node = address;
  }

  /**
   * Decides a batch on the node's connection.
   *
   * @throws as `NodeScript.decide`
   */
  async decide(batch: Batch, call?: BatchCall): Promise<readonly number[]> {
    if (this.node === undefined || !isWritable(this.connection)) {
      throw new NotRunError('the connection was replaced', false);
    }
    try {
      return await this.script.decide(batch, this.connection, call);
    } catch (error) {
      if (error instanceof NotRunError && error.forbidden) this.forbid(this, error);
      throw error;
    }
  }
}

export interface NodeLanesSettings {
  readonly script: NodeScript;
  /** What the client puts before every key. */
  readonly keyPrefix: string;
  /** The key of a probe with a number. Undefined: it is derived from the first request's key. */
  readonly probeKey?: ((number: number) => string) | undefined;
  readonly logger?: Logger | undefined;
}

/**
 * The lanes of a Cluster's nodes. Requests for any slots of a node share a lane, and so a call, once a probe has shown that the
 * server lets a script use keys that were not declared. Until then, and where it does not, the lane of a request is its slot.
 */
export class NodeLanes {
  private readonly byNode = new Map<string, NodeLane>();
  private probeKey: ((number: number) => string) | undefined;
  private hasWarned = false;

  constructor(
    private readonly cluster: ClusterMap,
    private readonly settings: NodeLanesSettings,
  ) {
    this.probeKey = settings.probeKey;
  }

  /** The lane of the node that has a slot; undefined while the node takes no batches. */
  laneOf(slot: number, key: string): NodeLane | undefined {
    const node = this.cluster.masterOf(slot);
    if (node === undefined) return undefined;
    const lane = this.byNode.get(node);
    if (lane !== undefined && isWritable(lane.connection)) {
      if (lane.usable) return lane;
      if (isWaiting(lane)) return undefined;
    }
    this.probeSoon(node, key);
    return undefined;
  }

  /** Whether requests for a node's slots share calls. */
  isUsable(node: string): boolean {
    return this.byNode.get(node)?.usable === true;
  }

  /** Probes all nodes that have slots, so that even the first requests share calls. */
  probeAll(): void {
    for (const node of this.cluster.masters()) this.probeSoon(node, '');
  }

  /** Holds the writes to all nodes back until the returned function is called, so that each node gets them as one. */
  cork(): () => void {
    const corked: ConnectionSocket[] = [];
    for (const { connection } of this.byNode.values()) {
      const { socket } = connection;
      if (socket?.cork === undefined || connection.state !== 'ready') continue;
      socket.cork();
      corked.push(socket);
    }
    return () => {
      for (const socket of corked) socket.uncork!();
    };
  }

  /** Probes a node in the background, unless that is under way or was tried just now. */
  private probeSoon(node: string, key: string): void {
    const lane = this.laneOfNode(node);
    if (lane === undefined || lane.usable || isWaiting(lane)) return;
    this.probeKey ??= (number) => `${key.slice(0, Math.max(0, key.indexOf('{')))}{floodgate-probe-${number}}`;
    const keys = this.probeKeysOf(node, this.probeKey);
    lane.probeAt = performance.now() + RETRY_MS;
    if (keys === undefined) return;
    lane.probing = true;
    unawaited(this.probe(lane, keys).finally(() => (lane.probing = false)));
  }

  private async probe(lane: NodeLane, keys: readonly string[]): Promise<void> {
    const batch = new Batch();
    const [resolve, reject] = [() => undefined, () => undefined];
    for (const key of keys) {
      batch.add({ charges: [{ key, algorithm: PROBE, cost: 1 }], resolve, reject, next: undefined });
    }
    try {
      const reply = await withinLoopTime(PATIENCE_MS, this.settings.script.decide(batch, lane.connection));
      const undecided = batch.settle(reply, undefined, 0, undefined);
      if (undecided === undefined) lane.usable = true; // otherwise a slot has just moved
    } catch (error) {
      if (error instanceof NotRunError ? error.forbidden : isForeign(error as Error)) this.forbid(lane, error as Error);
    }
  }

  private forbid(lane: NodeLane, { message }: Error): void {
    lane.usable = false;
    lane.probeAt = performance.now() + lane.forbiddenMs;
    lane.forbiddenMs = Math.min(MAX_FORBIDDEN_MS, 2 * lane.forbiddenMs);
    if (this.hasWarned) return;
    this.hasWarned = true;
    this.settings.logger?.warn(
      withHelp(
        `Redis node ${lane.address} lets no script read keys in several slots, so each slot takes a call of its own: ${message}`,
        'FG_CLUSTER_BY_SLOT',
      ),
    );
  }

  /** Two keys in two slots of a node. */
  private probeKeysOf(node: string, keyOf: (number: number) => string): readonly string[] | undefined {
    let first: { readonly key: string; readonly slot: number } | undefined;
    for (let i = 0; i < MAX_PROBE_KEYS; i++) {
      const key = keyOf(i);
      const slot = slotOf(`${this.settings.keyPrefix}${key}`);
      if (this.cluster.masterOf(slot) !== node || slot === first?.slot) continue;
      if (first !== undefined) return [first.key, key];
      first = { key, slot };
    }
    return undefined;
  }

  /** The lane of the current connection to a node: a new connection is a new lane, to be probed again. */
  private laneOfNode(node: string): NodeLane | undefined {
    const connection = this.cluster.connectionOf(node);
    const known = this.byNode.get(node);
    if (known !== undefined && known.connection === connection) return known;
    if (known !== undefined) this.drop(known);
    for (const lane of this.byNode.values()) if (hasEnded(lane)) this.drop(lane);
    if (connection === undefined || !knowsPrefix(connection, this.settings.keyPrefix)) return undefined;
    const lane = new NodeLane(node, connection, this.settings.script, (one, error) => this.forbid(one, error));
    this.byNode.set(node, lane);
    return lane;
  }

  private drop(lane: NodeLane): void {
    lane.node = undefined;
    this.byNode.delete(lane.address);
  }
}

/** Whether the client has closed the connection for good. */
function hasEnded({ connection }: NodeLane): boolean {
  return connection.state === 'ended';
}

/** Whether a probe is under way, or not due yet. */
function isWaiting({ probing, probeAt }: NodeLane): boolean {
  return probing || probeAt > performance.now();
}

function isWritable({ state, socket }: RedisConnection): boolean {
  return state === 'ready' && socket?.writable !== false;
}

/** Whether a connection adds the Cluster's prefix to declared keys, or adds no prefix. */
function knowsPrefix(connection: RedisConnection, keyPrefix: string): boolean {
  return connection.keyPrefix === '' || connection.keyPrefix === keyPrefix;
}

/** Whether a probe failed because the server is not like Redis. Trouble of Redis and lost connections do not count. */
function isForeign(error: Error): boolean {
  return isErrorReply(error) && error.message.startsWith('ERR ');
}
