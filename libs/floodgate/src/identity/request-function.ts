import type { IncomingHttpHeaders } from 'node:http';

/** The members of a request. Requests of Express, Fastify and Node have them. Other transports have an object with these members. */
export interface RequestMembers {
  /** Names in lower case. Empty where the transport has none. */
  readonly headers: Readonly<IncomingHttpHeaders>;
  /** The client's address by the platform's trust-proxy setting. */
  readonly ip?: string | undefined;
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly body?: unknown;
  readonly query?: unknown;
  readonly params?: unknown;
  /** What authentication has found out. */
  readonly user?: unknown;
}

/**
 * The first argument of an application's function: the request. Transports other than HTTP have an object with the same members:
 * docs/contexts.md has a table.
 *
 * @typeParam Members what the application knows better: its user, the body of a route. Express's or
 *   Fastify's own type of a request can be named instead of `RateLimitRequest`.
 * @example skipIf: (request: RateLimitRequest<{ user?: User }>) => request.user?.isAdmin === true
 */
export type RateLimitRequest<Members = unknown> = RequestMembers & Members;

/**
 * A function of the application, asked about a request. It may name the type of its request: the library cannot know the
 * platform, nor what authentication adds.
 */
export type RequestFunction<Context, Answer> = {
  // A method's parameters are bivariant, those of a function type are not: only so may a function name a narrower type.
  ask(request: RateLimitRequest, context: Context): Answer;
}['ask'];

/** Finds the request of a context. */
export type RequestOf<Context> = (context: Context) => RateLimitRequest;
