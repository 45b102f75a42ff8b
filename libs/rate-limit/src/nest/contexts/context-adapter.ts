import type { ArgumentsHost, ExecutionContext, Type } from '@nestjs/common';
import type { IdentityRequest } from '../../identity/resolvers.js';
import type { Client } from '../../engine/requests/client.js';
import type { Exchange } from '../../engine/requests/exchange.js';
import type {
  RateLimitAddressBlockedException,
  RateLimitExceededException,
  RateLimitIdentityMissingException,
  RateLimitUnavailableException,
} from '../guard/exceptions.js';
import type { Call } from '../exchanges/call.js';
import type { Handler } from '../routes/route.js';

/** What the guard throws: 429, 503, 401 and 403 in HTTP. `getResponse()` is the body that HTTP sends. */
export type RateLimitException =
  | RateLimitExceededException
  | RateLimitUnavailableException
  | RateLimitIdentityMissingException
  | RateLimitAddressBlockedException;

/**
 * What resolvers of identities read of an operation: headers with names in lower case, the client's address, the connection.
 * Node's `IncomingMessage` and the requests of Express and Fastify fit. Only what the sender cannot write belongs in it: a
 * message's payload does not.
 */
export interface ContextRequest extends IdentityRequest {
  /** What authentication has found out, for resolvers of the application. */
  readonly user?: unknown;
  /** Of the request that opened a WebSocket. */
  readonly method?: string | undefined;
  readonly url?: string | undefined;
}

/**
 * When a call ends:
 * - `'handler'`: with its handler, or when its client leaves before
 * - `'response'`: with the HTTP response that answers it, sent or not; where there is none, as `'handler'`
 * - `'iteration'`: with the iteration of what the handler returned, as a subscription does, or when its client leaves before
 * - `'client'`: when its client leaves, as a connection does
 */
export type CallEnd = 'handler' | 'response' | 'iteration' | 'client';

/** Where a context's handlers stand: Nest looks for message handlers on controllers, for resolvers and gateways on providers. */
export type HandlerPlace = 'controllers' | 'providers';

/**
 * Teaches the guard one kind of context: HTTP, GraphQL, WebSocket, messages, or one of the application (`contexts` of the
 * module). Everything else, policies, identities, waiting, is the same in each.
 *
 * @example
 * ```ts
 * // What ExternalContextCreator calls with the context type 'job'.
 * const jobs: ContextAdapter = {
 *   type: 'job',
 *   handlers: 'a job',
 *   place: 'providers',
 *   isHandler: (_, handler) => Reflect.hasMetadata('job', handler),
 *   request: (context) => ({ headers: {}, ip: context.getArgByIndex(0).sentFrom }),
 *   toError: (exception) => new JobRejected(exception.getResponse()),
 * };
 * ```
 */
export interface ContextAdapter {
  /** What `ExecutionContext.getType()` answers in this context, such as `'rpc'`. An adapter replaces the library's of its type. */
  readonly type: string;
  /** One handler in words, for messages at boot, such as `'a message handler'`. */
  readonly handlers: string;
  readonly place: HandlerPlace;
  /**
   * Whether Nest calls the method in this context, with guards. Called at boot and by `RateLimiter.peek`: `@RateLimit` and
   * `defaults` reach the handlers for which it is true, and boot warns of `@RateLimit` on other methods.
   */
  isHandler(type: Type, handler: Handler): boolean;
  /**
   * The operation that a call of a handler belongs to, where several calls may belong to one: a policy charges it once, however
   * many handlers see it. An object that lives as long as the operation and that no other operation has. Without this method,
   * or where it returns undefined, each call is an operation. However many guards see one call, it is charged once.
   */
  operation?(context: ExecutionContext): object | undefined;
  /**
   * What the client waits for as a whole, where it consists of several operations that may run one after the other, such as the
   * root fields of a mutation. An object as for `operation`. A store or a function that misses its deadline for one of them is
   * not waited for again by the others. Without this method, or where it returns undefined, an operation is a whole.
   */
  execution?(context: ExecutionContext): object | undefined;
  /**
   * What a call waits for before it is limited, such as the decision on its connection. A rejection rejects the call. Called for
   * each handler of the context, limited or not. Default nothing.
   */
  opened?(context: ExecutionContext): Promise<unknown> | undefined;
  /**
   * What stands for an HTTP request: what the functions of policies get first. A request without `ip` and `socket` has no address: a
   * policy that counts one then fails, and says what is right.
   */
  request(context: ExecutionContext): ContextRequest;
  /** The HTTP response that carries the headers of a decision, of the HTTP adapter's kind; undefined where there is none. */
  response?(context: ExecutionContext): unknown;
  /**
   * Who waits for the answer. When the client leaves, a leaky bucket's slot, a place in the waiting room and a `concurrency` lease
   * are free again. Default, and undefined: a client of whom nobody hears, as behind a message broker.
   *
   * @example client: (context) => clientOf(context.getArgByIndex<Job>(0).signal)
   */
  client?(context: ExecutionContext): Client | undefined;
  /** When a call ends: what holds its leases, and when `countIf` and `settle` are called. Default `'handler'`. */
  ends?(context: ExecutionContext): CallEnd;
  /** @internal The life of a call whose end no `CallEnd` describes. */
  exchange?(context: ExecutionContext, call: Call, client: Client): Exchange | undefined;
  /** Called once before `toError`, where the application has such handlers: a place to load optional packages. */
  prepare?(): Promise<void>;
  /** The error to throw, in the words of the context. Default the exception itself. */
  toError?(exception: RateLimitException, context: ExecutionContext): unknown;
  /**
   * Answers an exception that a handler has thrown by itself, after `RateLimiter.consume` for example. What an exception filter of
   * the context returns or throws. Default: Nest handles it without this filter.
   */
  caught?(exception: RateLimitException, host: ArgumentsHost): unknown;
}
