import { ConnectionError } from '../../libs/floodgate/src/stores/redis/clients/client-failure.js';
import type { ConnectionState } from '../../libs/floodgate/src/stores/redis/clients/client.js';
import { Direction, type Path } from '../network/link.js';
import type { EventLoop } from '../time/event-loop.js';
import type { Random } from '../time/random.js';
import type { Scheduler } from '../time/scheduler.js';
import type { Call, RedisServer } from './server.js';

/** What a call costs a pod, in microseconds of CPU time. Measured; the README says how. */
export interface ClientCosts {
  /** Writing a call, and reading its answer. */
  readonly call: number;
  /** Of each key of the call: its request's part of the arguments, the reply and the decision. */
  readonly row: number;
}

export interface ConnectionSettings {
  readonly scheduler: Scheduler;
  readonly loop: EventLoop;
  readonly server: RedisServer;
  readonly path: Path;
  readonly random: Random;
  readonly costs: ClientCosts;
}

/** Milliseconds until an attempt to connect is given up. */
const CONNECT_MS = 250;
/** Milliseconds between two attempts at most. */
const BACKOFF_MS = 250;

interface Pending {
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A connection of a pod to a server, as a client of the library keeps it: nothing is queued while it is not
 * ready, nothing is sent twice, and it is opened again for as long as it takes.
 */
export class Connection {
  state: ConnectionState = 'closed';
  /** The bytes stand for answers: a watchdog only asks whether any came. */
  socket = this.newSocket();
  private readonly listeners: ((state: ConnectionState) => void)[] = [];
  private requests: Direction;
  private answers: Direction;
  private readonly pending = new Set<Pending>();
  /** Increases with each connection: what belongs to an earlier one is dropped. */
  private life = 0;
  private attempts = 0;

  constructor(private readonly settings: ConnectionSettings) {
    const { scheduler, path, random } = settings;
    this.requests = new Direction(scheduler, path, random);
    this.answers = new Direction(scheduler, path, random, 'back');
  }

  onState(listener: (state: ConnectionState) => void): void {
    this.listeners.push(listener);
  }

  /** Resolves once the connection is ready. */
  open(): Promise<void> {
    return new Promise((resolve) => {
      this.onState((state) => state === 'ready' && resolve());
      this.connect();
    });
  }

  call(call: Call): Promise<unknown> {
    const { scheduler, loop, server, costs } = this.settings;
    if (this.state !== 'ready') {
      return Promise.reject(new ConnectionError('there is no connection to Redis', undefined, true, true));
    }
    loop.spend(costs.call / 2);
    return new Promise((resolve, reject) => {
      const pending = { resolve, reject };
      const { life } = this;
      this.pending.add(pending);
      this.requests.send(scheduler.now + loop.elapsed, () => {
        server.receive(call, (at, reply) => {
          this.answers.send(at, () => {
            if (life !== this.life) return;
            loop.post(() => this.answer(pending, reply), costs.call / 2 + call.keys.length * costs.row);
          });
        });
      });
    });
  }

  /** The server has closed the connection, or was closed. */
  lose(): void {
    if (this.state !== 'ready' && this.state !== 'connecting') return;
    this.life++;
    this.state = 'closed';
    for (const { reject } of this.pending) {
      reject(new ConnectionError('the connection to Redis is closed', undefined, true));
    }
    this.pending.clear();
    this.tell('closed');
    const { random, loop } = this.settings;
    loop.later(() => this.connect(), random.next() * Math.min(BACKOFF_MS, ++this.attempts * 50));
  }

  close(): void {
    this.life++;
    this.state = 'ended';
  }

  private connect(): void {
    if (this.state === 'ended') return;
    const { loop, server, scheduler } = this.settings;
    this.state = 'connecting';
    this.tell('connecting');
    const { life } = this;
    const giveUp = loop.later(() => this.lose(), CONNECT_MS);
    const settle = (then: () => void): void =>
      loop.post(() => {
        if (life !== this.life || this.state !== 'connecting') return;
        giveUp();
        then();
      });
    this.requests.send(scheduler.now, () => {
      const { isUp } = server;
      this.answers.send(scheduler.now, () => settle(() => (isUp ? this.ready() : this.lose())));
    });
  }

  private ready(): void {
    this.state = 'ready';
    this.attempts = 0;
    this.socket = this.newSocket();
    this.tell('connected');
    this.tell('ready');
  }

  private answer(pending: Pending, reply: unknown): void {
    if (!this.pending.delete(pending)) return;
    this.socket.bytesRead++;
    if (reply instanceof Error) pending.reject(reply);
    else pending.resolve(reply);
  }

  private tell(state: ConnectionState): void {
    for (const listener of this.listeners) listener(state);
  }

  private newSocket(): { bytesRead: number; destroyed: boolean; destroy: (error: Error) => void } {
    const socket = {
      bytesRead: 0,
      destroyed: false,
      destroy: () => {
        if (socket.destroyed) return;
        socket.destroyed = true;
        this.lose();
      },
    };
    return socket;
  }
}
