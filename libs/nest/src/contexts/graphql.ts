import type { IncomingMessage } from 'node:http';
import type { ArgumentsHost, ExecutionContext, Type } from '@nestjs/common';
import { RateLimitConfigError } from 'floodgate';
import { checkNames, httpClient, type HttpRequest, shown } from 'floodgate/internal';
import type { Handler } from '../handlers/route.js';
import type { ContextAdapter, ContextRequest } from './context-adapter.js';
import { replyOf } from './fastify-replies.js';
import { toGraphqlError } from './graphql-error.js';

/**
 * What a policy charges once in GraphQL:
 * - `'operation'`: an operation, however many fields and aliases ask for the same
 * - `'root-field'`: each field at the top of an operation, with all fields below it; each alias is one
 * - `'field'`: each call of a resolver, each alias and each item of a list
 *
 * A batch of operations is charged for each of them.
 */
export type GraphqlCount = 'operation' | 'root-field' | 'field';

/** What a function of `count` gets: the part of graphql-js's `GraphQLResolveInfo` that says where a field stands. */
export interface GraphqlFieldInfo {
  readonly fieldName: string;
  /** `name` is the type that has the field: `'Query'`, `'Rider'`. */
  readonly parentType: { readonly name: string };
  readonly operation: { readonly operation: string };
  readonly path: ResponsePath;
  /** A new object for each operation. Its document may be cached for many operations. */
  readonly variableValues: object;
}

interface ResponsePath {
  readonly prev: ResponsePath | undefined;
  /** The alias or name of a field, or the index of an item. */
  readonly key: string | number;
}

export interface GraphqlContextOptions {
  /**
   * What a policy charges once, or a function of the field that returns it. Default: each root field of a mutation, and
   * otherwise an operation. A mutation can repeat a root field under any number of aliases, and each of them acts: 100 logins
   * in one operation are 100 attempts.
   *
   * @example count: ({ fieldName }) => (fieldName === 'coupon' ? 'field' : 'operation')
   */
  count?: GraphqlCount | ((field: GraphqlFieldInfo) => GraphqlCount);
}

/** What Nest's drivers and the applications put into GraphQL's context. */
interface GraphqlContext {
  /** Nest's drivers set it. Over WebSocket, Apollo's is the context of graphql-ws. */
  readonly req?: Source & { readonly res?: unknown };
  readonly res?: unknown;
  /** Mercurius; over WebSocket only its request. */
  readonly reply?: { readonly request?: unknown; readonly header?: unknown };
  readonly extra?: Source['extra'];
  readonly request?: unknown;
}

/** The context of graphql-ws: `extra` has the request that opened the connection. */
interface Source {
  readonly extra?: { readonly request?: unknown; readonly user?: unknown };
}

/** The metadata keys of @nestjs/graphql on classes and methods. */
const TYPE = 'graphql:resolver_type';
const PROPERTY = 'graphql:resolve_property';
const REFERENCE = 'graphql:resolve_reference';
const ROOT_TYPES: readonly unknown[] = ['Query', 'Mutation', 'Subscription'];
/** Nest never calls guards for the method that tells the type of a union's member. */
const RESOLVE_TYPE = '__resolveType';

/** The context of an application that gives none. */
const NONE: GraphqlContext = {};

const COUNTS: readonly unknown[] = ['operation', 'root-field', 'field'] satisfies GraphqlCount[];

/**
 * Resolvers of queries, mutations and subscriptions, and of fields where `fieldResolverEnhancers` contains `'guards'`: with
 * Apollo's and Mercurius's drivers of @nestjs/graphql. The module knows this context by default. Name it to choose what is
 * counted.
 *
 * @throws {RateLimitConfigError} for a wrong or unknown option
 * @example RateLimitModule.forRoot({ contexts: [graphqlContext({ count: 'field' })] })
 */
export function graphqlContext(options: GraphqlContextOptions = {}): ContextAdapter {
  checkNames(options, ['count'], 'graphqlContext');
  const { count = rootFieldsOfMutations } = options;
  if (typeof count !== 'function' && !COUNTS.includes(count)) throw wrongCount(count);
  const units = new Units();
  return {
    type: 'graphql',
    handlers: 'a resolver',
    place: 'providers',
    isHandler: (type, handler) => isRootField(type, handler) || isField(handler),
    operation(context) {
      const info = infoOf(context);
      if (typeof info?.variableValues !== 'object') return undefined;
      const counted = typeof count === 'function' ? count(info) : count;
      if (!COUNTS.includes(counted)) throw wrongCount(counted);
      if (counted === 'field') return undefined;
      const of = contextOf(context);
      return counted === 'operation' ? units.operation(of, info) : units.rootField(of, info);
    },
    execution(context) {
      const info = infoOf(context);
      return typeof info?.variableValues === 'object' ? units.operation(contextOf(context), info) : undefined;
    },
    request: requestOf,
    response: responseOf,
    client(context) {
      const request = requestOf(context) as HttpRequest;
      return request.socket === undefined ? undefined : httpClient(request, responseOf(context));
    },
    // The info of a reference resolver of an older subgraph may lack the operation.
    ends: (context) => (infoOf(context)?.operation?.operation === 'subscription' ? 'iteration' : 'response'),
    toError: toGraphqlError,
    caught: (exception) => {
      throw toGraphqlError(exception);
    },
  };
}

/** Whether the method is the resolver of a field of another type than the root types: an option decides on its guards. */
export function isField(handler: Handler): boolean {
  if (handler.name === RESOLVE_TYPE) return false;
  return Reflect.hasMetadata(PROPERTY, handler) || Reflect.hasMetadata(REFERENCE, handler);
}

function isRootField(type: Type, handler: Handler): boolean {
  if (ROOT_TYPES.includes(Reflect.getMetadata(TYPE, handler))) return true;
  return isField(handler) && ROOT_TYPES.includes(Reflect.getMetadata(TYPE, type));
}

const rootFieldsOfMutations = ({ operation }: GraphqlFieldInfo): GraphqlCount =>
  operation.operation === 'mutation' ? 'root-field' : 'operation';

/**
 * The objects that identify operations and their root fields. With graphql-js the variables would suffice, because it creates
 * them for each execution. The context, which is created for each request, keeps requests apart even if an executor used one
 * object for all operations without variables.
 */
class Units {
  private readonly operations = new WeakMap<object, WeakMap<object, Map<string, object>>>();

  operation(context: object, { variableValues }: GraphqlFieldInfo): Map<string, object> {
    let ofContext = this.operations.get(context);
    if (ofContext === undefined) this.operations.set(context, (ofContext = new WeakMap()));
    let operation = ofContext.get(variableValues);
    if (operation === undefined) ofContext.set(variableValues, (operation = new Map()));
    return operation;
  }

  rootField(context: object, info: GraphqlFieldInfo): object {
    let root = info.path;
    while (root.prev !== undefined) root = root.prev;
    const key = String(root.key);
    const fields = this.operation(context, info);
    let unit = fields.get(key);
    if (unit === undefined) fields.set(key, (unit = {}));
    return unit;
  }
}

/**
 * The object that one call of a resolver alone has among its arguments: the info of a field, or the representation that a
 * reference resolver resolves. All references of an operation share one info.
 */
export function callOf(host: ArgumentsHost): object | undefined {
  const args = host.getArgs<unknown[]>();
  const own = args.length === 3 ? args[0] : args[3];
  return typeof own === 'object' && own !== null ? own : undefined;
}

/** A reference resolver of a federation gets no arguments of a field: [reference, context, info]. */
function infoOf(context: ExecutionContext): GraphqlFieldInfo | undefined {
  const args = context.getArgs<unknown[]>();
  return (args.length === 3 ? args[2] : args[3]) as GraphqlFieldInfo | undefined;
}

function contextOf(context: ExecutionContext): GraphqlContext {
  const args = context.getArgs<unknown[]>();
  const given = args.length === 3 ? args[1] : args[2];
  return typeof given === 'object' && given !== null ? given : NONE;
}

/** The HTTP request that brought the operation, or the one that opened its WebSocket. */
function requestOf(context: ExecutionContext): ContextRequest {
  const { req, reply, extra, request } = contextOf(context);
  if (reply !== undefined && typeof reply.header !== 'function' && isRequest(reply.request))
    return asOpened(reply.request);
  const opened = [extra, req?.extra].find((source) => isRequest(source?.request));
  const found = [req, reply?.request, opened?.request, request].find(isRequest);
  if (found === undefined) return { headers: {} };
  if (found !== opened?.request || opened.user === undefined) return found;
  // The properties of Node's request are getters of its prototype, which a copy would lack.
  return Object.create(found, { user: { value: opened.user } }) as ContextRequest;
}

/**
 * The request that opened a Mercurius WebSocket, with its original headers. Mercurius adds headers from the client's first
 * message: with these, clients could send a header that a gateway removes.
 */
function asOpened(request: ContextRequest): ContextRequest {
  const { user } = request;
  const { headersDistinct, method, rawHeaders, socket, url } = (request.raw ?? request) as IncomingMessage;
  const headers = Object.entries(headersDistinct).map(([name, values]) => [name, joined(name, values!)] as const);
  return { headers: Object.fromEntries(headers), method, rawHeaders, socket, url, user };
}

/** Headers of which Node keeps the first, where one is repeated (https://nodejs.org/api/http.html#messageheaders). */
const KEPT_ONCE = new Set(
  (
    'age authorization content-length content-type etag expires from host if-modified-since if-unmodified-since ' +
    'last-modified location max-forwards proxy-authorization referer retry-after server user-agent'
  ).split(' '),
);

/** The values of a header as one text, as `IncomingMessage.headers` has them. */
function joined(name: string, values: readonly string[]): string {
  if (KEPT_ONCE.has(name)) return values[0]!;
  return values.join(name === 'cookie' ? '; ' : ', ');
}

function isRequest(value: unknown): value is ContextRequest {
  const { headers } = (value ?? {}) as { readonly headers?: unknown };
  return typeof headers === 'object' && headers !== null;
}

/** Express links a request to its response. With Fastify the module links them, for drivers that leave the reply out. */
function responseOf(context: ExecutionContext): unknown {
  const { req, res, reply } = contextOf(context);
  if (typeof reply?.header === 'function') return reply;
  const response = res ?? req?.res ?? openReply(context);
  const { setHeader, header } = Object(response) as { readonly setHeader?: unknown; readonly header?: unknown };
  return typeof setHeader === 'function' || typeof header === 'function' ? response : undefined;
}

/** Fastify's reply to the request. The reply to an upgrade to WebSocket counts as sent, and answers no operation. */
function openReply(context: ExecutionContext): unknown {
  const reply: { readonly sent?: boolean } | undefined = replyOf(requestOf(context));
  return reply?.sent === true ? undefined : reply;
}

function wrongCount(count: unknown): RateLimitConfigError {
  return new RateLimitConfigError(
    'graphqlContext',
    `count must be 'operation', 'root-field', 'field', or a function that returns one of them, got ${shown(count)}`,
  );
}
