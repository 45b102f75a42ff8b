import { once } from 'node:events';
import type { Server } from 'node:http';
import { Query, Resolver, Subscription } from '@nestjs/graphql';
import { RateLimitModule } from 'nestjs-floodgate';
import { WebSocket } from 'ws';
import { type Driver, startGraphql } from '../../contexts/support/graphql-app.js';
import { handlers, PLAIN, stage, type Work } from '../support/stage.js';
import type { Client, Ending, Moment, Sent, Transport, Way } from '../support/transport.js';
import { CountedConnections } from './connections.js';
import { leaveSocket } from './sockets.js';

const LAST = 'last';

const Subscriptions = handlers(
  [...PLAIN, 'stream'],
  () => Subscription(() => String),
  (field) => () => stage.items({ [field]: 'first' }, { [field]: LAST }),
);
const none = { value: () => '', writable: true, configurable: true };
Query(() => String)(Subscriptions.prototype, 'none', none);
Object.defineProperty(Subscriptions.prototype, 'none', none);
Resolver()(Subscriptions);

/** Ends with the iteration. It is aborted where the client completes or leaves before the source is exhausted. */
function ending(moment: Moment): Ending {
  if (moment === 'answer') return { status: undefined, value: { work: LAST }, error: undefined, aborted: false };
  return { status: undefined, error: undefined, aborted: true };
}

interface Message {
  readonly id?: string;
  readonly type: string;
}

/** A client of graphql-ws with one WebSocket. */
class SubscriptionClient implements Client {
  private id = 0;
  private readonly listeners = new Set<(message: Message) => void>();

  private constructor(
    readonly socket: WebSocket,
    private readonly completed: () => void,
  ) {
    socket.on('error', () => {});
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as Message;
      for (const listener of this.listeners) listener(message);
    });
  }

  /** @param completed called when the server has read that the client completes a subscription */
  static async connect(port: number, completed: () => void): Promise<SubscriptionClient> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, 'graphql-transport-ws');
    const client = new SubscriptionClient(socket, completed);
    await once(socket, 'open');
    const acknowledged = client.next('connection_ack');
    client.tell({ type: 'connection_init' });
    await acknowledged;
    return client;
  }

  send(work: Work): Sent {
    const id = String(++this.id);
    const sent = { first: this.next('next', id), done: this.next('complete', id) };
    this.tell({ id, type: 'subscribe', payload: { query: `subscription { ${work} }` } });
    return sent;
  }

  leave(way: Way): void {
    if (way !== 'complete') {
      leaveSocket(this.socket, way);
      return;
    }
    this.tell({ id: String(this.id), type: 'complete' });
    // A server answers a ping after it has read what came before.
    this.socket.once('pong', this.completed);
    this.socket.ping();
  }

  private tell(message: object): void {
    this.socket.send(JSON.stringify(message));
  }

  private next(type: string, id?: string): Promise<void> {
    return new Promise((resolve) => {
      const listener = (message: Message): void => {
        if (message.type !== type || message.id !== id) return;
        this.listeners.delete(listener);
        resolve();
      };
      this.listeners.add(listener);
    });
  }
}

const UNHEARD = 'no server tells that a client completes what has not begun';
const BEFORE_BEGUN = ['guard', 'identity', 'store'] as const;

/**
 * Where a completion cannot be noticed. The drivers keep it to themselves while they subscribe. graphql-ws returns the iterator later,
 * Mercurius forgets the completion.
 */
function withoutCompletion(driver: Driver): Transport['without'] {
  const forgotten = driver === 'Mercurius' ? BEFORE_BEGUN : [];
  return Object.fromEntries([...forgotten, 'queue' as const].map((moment) => [`${moment} by complete`, UNHEARD]));
}

/** Subscriptions over graphql-ws. */
export function subscriptions(driver: Driver): Transport {
  return {
    name: `GraphQL subscriptions with ${driver}`,
    value: undefined,
    ways: ['close', 'FIN', 'RST', 'complete', 'stays'],
    without: withoutCompletion(driver),
    // A generator that waits for its next item returns when it has come.
    endsWithHandler: ['complete'],
    ending,
    async open(options) {
      const imports = [RateLimitModule.forRoot(options)];
      const { http } = await startGraphql(
        driver,
        { imports, providers: [Subscriptions] },
        { apollo: { subscriptions: { 'graphql-ws': true } }, mercurius: { subscription: { fullWsTransport: true } } },
      );
      const connections = new CountedConnections(http.app.getHttpServer() as Server);
      const clients: SubscriptionClient[] = [];
      let completed = 0;
      return {
        app: http.app,
        logs: http.logs,
        async client(way) {
          const client = await SubscriptionClient.connect(http.port, () => completed++);
          clients.push(client);
          if (way === 'complete' || way === 'stays') await client.send('work').done;
          return client;
        },
        departed: () => connections.closed + completed,
        listeners: () => connections.listeners(),
        async [Symbol.asyncDispose]() {
          for (const { socket } of clients) socket.terminate();
          await http.close();
        },
      };
    },
  };
}
