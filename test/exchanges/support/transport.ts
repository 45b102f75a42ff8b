import type { INestApplicationContext } from '@nestjs/common';
import type { RateLimitModuleExtras, RateLimitModuleOptions } from 'nestjs-floodgate';
import type { CapturedLogs } from '../../support/http-app.js';
import type { Place, Work } from './stage.js';

/** When a client leaves. */
export type Moment = 'guard' | 'identity' | 'store' | 'queue' | 'handler' | 'stream' | 'answer';

export interface Held {
  readonly title: string;
  readonly work: Work;
  /** Where the requests are when their clients leave; undefined: in the waiting room, or answered. */
  readonly place?: Place;
}

export const MOMENTS: Readonly<Record<Moment, Held>> = {
  guard: { title: 'before the guard runs', work: 'work', place: 'guard' },
  identity: { title: 'while an identity function is pending', work: 'work', place: 'identity' },
  store: { title: 'while the store decides', work: 'work', place: 'store' },
  queue: { title: 'while the request waits for its slot', work: 'queue' },
  handler: { title: 'in the handler', work: 'work', place: 'handler' },
  stream: { title: 'while the answer streams', work: 'stream', place: 'stream' },
  answer: { title: 'right after the answer', work: 'work' },
};

/** In these the store may not have been asked yet: a client that is known to have left need not be charged. */
export const BEFORE_THE_STORE: readonly Moment[] = ['guard', 'identity'];

/** In this one, which stands for all functions, the transport does not take part: one transport stands for all, but in the long run. */
export const INSIDE: readonly Moment[] = ['identity'];
/** In these the transport differs by the way to leave: at the others its first way stands for all, but in the long run. */
export const BY_WAY: readonly Moment[] = ['handler', 'stream', 'answer'];

/**
 * How a client leaves:
 * - `FIN`: its connection closes in order; `RST`: its connection is reset
 * - `RST_STREAM`, `cancel`: of HTTP/2 and gRPC, while the connection stays
 * - `close`: a WebSocket's own closing handshake
 * - `namespace`: of socket.io, while the connection stays
 * - `complete`: of graphql-ws, while the WebSocket stays
 * - `stays`: it does not; for what has to be over without it
 */
export type Way = 'FIN' | 'RST' | 'RST_STREAM' | 'cancel' | 'close' | 'namespace' | 'complete' | 'stays';

/** After these the connection lives on. */
export const KEEPING: readonly Way[] = ['RST_STREAM', 'cancel', 'namespace', 'complete', 'stays'];

/** A request under way. Nothing of it rejects. */
export interface Sent {
  /** Settles when the client can leave; default at once. */
  readonly ready?: Promise<unknown>;
  /** Settles with the first part of a streamed answer. */
  readonly first: Promise<unknown>;
  /** Settles with the whole answer. */
  readonly done: Promise<unknown>;
}

/** One client, with one request at a time. */
export interface Client {
  send(work: Work): Sent;
  /** Leaves at once. */
  leave(way: Way): void;
}

/** What a test knows of the ending of each request; `value` and the like are left out where they are open. */
export interface Ending {
  readonly status?: number | undefined;
  readonly value?: unknown;
  readonly error?: unknown;
  readonly aborted?: boolean;
}

/** A running application. */
export interface Served extends AsyncDisposable {
  readonly app: Pick<INestApplicationContext, 'get'>;
  readonly logs: CapturedLogs;
  /** A client whose connection, where one lives on, has been used before. */
  client(way: Way): Promise<Client>;
  /** How many clients the server has seen leave. */
  departed(): number;
  /** The listeners on all objects of the server that outlive a request. */
  listeners(): number;
}

/** One way to reach an application. */
export interface Transport {
  readonly name: string;
  /** What its handlers return. */
  readonly value: unknown;
  readonly ways: readonly Way[];
  /** The moments that it does not have, or not with one way to leave, and why. */
  readonly without: Partial<Readonly<Record<Moment | `${Moment} by ${Way}`, string>>>;
  /** The ways to leave of which only the end of a running handler tells; default none. */
  readonly endsWithHandler?: readonly Way[];
  /** The ways to leave of which a server hears nothing where the request was answered before; default none. */
  readonly leavesUnseen?: readonly Way[];
  /** Errors that the framework logs of each client that leaves, and warnings of Node that it causes. */
  readonly noise?: RegExp;
  /** How each request ends. */
  ending(moment: Moment, way: Way): Ending;
  open(options: RateLimitModuleOptions & RateLimitModuleExtras, work: Work): Promise<Served>;
}
