import type { ArgumentsHost, ExecutionContext, Type } from '@nestjs/common';
import type { Client } from 'floodgate';
import type { IdentityRequest } from 'floodgate/http';
import type { Exchange } from 'floodgate/internal';
import type {
  RateLimitAddressBlockedException,
  RateLimitExceededException,
  RateLimitIdentityMissingException,
  RateLimitUnavailableException,
} from '../exceptions/exceptions.js';
import type { Call } from '../exchanges/call.js';
import type { Handler } from '../handlers/route.js';

/** What the guard throws: 429, 503, 401 and 403 in HTTP. `getResponse()` is the body that HTTP sends. */
export type RateLimitException =
  | RateLimitExceededException
  | RateLimitUnavailableException
  | RateLimitIdentityMissingException
  | RateLimitAddressBlockedException;

/**
 * What identity resolvers read from an operation: headers with names in lower case, the client's address, the connection.
 * Node's `IncomingMessage` and the requests of Express and Fastify fit. Only what the sender cannot write belongs in it: a
 * message's payload does not.
 */
export interface ContextRequest extends IdentityRequest {
  /** The authenticated user, for resolvers of the application. */
  readonly user?: unknown;
  /** The method of the request that opened a WebSocket. */
  readonly method?: string | undefined;
  readonly url?: string | undefined;
}

/**
 * When a call ends:
 * - `'handler'`: with its handler, or when its client leaves before
 * - `'response'`: with the HTTP response that answers it, sent or not; without such a response, with its handler
 * - `'iteration'`: with the iteration of what the handler returned, as a subscription does, or when its client leaves before
 * - `'client'`: when its client leaves, as a connection does
 */
export type CallEnd = 'handler' | 'response' | 'iteration' | 'client';

/**
 * The kind of class that has a context's handlers: Nest looks for message handlers on controllers, for resolvers and gateways
 * on providers.
 */
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
  /** The kind of class that has such handlers. */
  readonly place: HandlerPlace;
  /**
   * Whether Nest calls the method in this context, with guards. Called at boot and by `RateLimiter.peek`: `@RateLimit` and
   * `defaults` reach the handlers for which it is true, and boot warns of `@RateLimit` on other methods.
   */
  isHandler(type: Type, handler: Handler): boolean;
  /**
   * Identifies the operation of a handler call, if several calls may belong to one operation: a policy charges an operation
   * once, however many handlers take part. Returns an object that lives as long as the operation, and that no other operation
   * has. Without this method, or if it returns undefined, each call is an operation. A call is charged once, however many
   * guards see it.
   */
  operation?(context: ExecutionContext): object | undefined;
  /**
   * Identifies what the client waits for as a whole, if this consists of several operations that may run one after the other,
   * such as the root fields of a mutation. Returns an object like `operation`. A store or a function that misses its deadline
   * in one of these operations is not awaited again in the others. Without this method, or if it returns undefined, each
   * operation stands alone.
   */
  execution?(context: ExecutionContext): object | undefined;
  /**
   * A promise that a call waits for before it is limited, such as the decision on its connection. If it rejects, the call is
   * rejected. Called for each handler of the context, limited or not. Default nothing.
   */
  opened?(context: ExecutionContext): Promise<unknown> | undefined;
  /**
   * Returns the request of this context, which policy functions get as their first argument. A request without `ip` and
   * `socket` has no address: a policy that counts addresses then fails, with a message that says what to do.
   */
  request(context: ExecutionContext): ContextRequest;
  /**
   * The HTTP response that carries the headers of a decision, of the HTTP adapter's kind; undefined, the default, where there is
   * none.
   */
  response?(context: ExecutionContext): unknown;
  /**
   * Returns the client that waits for the answer. When the client leaves, a leaky bucket's slot, a place in the waiting room
   * and a `concurrency` lease become free. Default, and for undefined: a client whose disconnection cannot be noticed, such as
   * one behind a message broker.
   *
   * @example client: (context) => clientOf(context.getArgByIndex<Job>(0).signal)
   */
  client?(context: ExecutionContext): Client | undefined;
  /** When a call ends: its leases are then released, and `countIf` and `settle` are called. Default `'handler'`. */
  ends?(context: ExecutionContext): CallEnd;
  /** @internal The life of a call whose end no `CallEnd` describes. */
  exchange?(context: ExecutionContext, call: Call, client: Client): Exchange | undefined;
  /**
   * Called once before `toError`, if the application has handlers of this context. It may load optional packages. Default
   * nothing.
   */
  prepare?(): Promise<void>;
  /** Converts an exception of the guard to the error that clients of this context get. Default the exception itself. */
  toError?(exception: RateLimitException, context: ExecutionContext): unknown;
  /**
   * Answers an exception that a handler has thrown itself, for example after `RateLimiter.consume`. It returns or throws what
   * an exception filter of this context would. Default: Nest handles it without this filter.
   */
  caught?(exception: RateLimitException, host: ArgumentsHost): unknown;
}
