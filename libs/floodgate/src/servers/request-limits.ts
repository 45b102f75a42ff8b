import type { PolicyCharge } from '../charges/policy-charge.js';
import { LimiterUnavailableError } from '../charges/errors.js';
import type { LimiterPolicy } from '../engine/calls/call-policies.js';
import { Admission, type Transport } from '../engine/requests/admission.js';
import { RequestCharges } from '../engine/requests/request-charges.js';
import { RequestRecord } from '../engine/requests/request-record.js';
import { type RouteTraits, routeTraitsOf } from '../engine/requests/route-traits.js';
import { PolicyFunctions } from '../functions/policy-functions.js';
import { AddressLists, type AddressListOptions, type Listed } from '../http/address-lists.js';
import { addressBlockedBody, exceededBody, identityMissingBody, unavailableBody } from '../http/bodies.js';
import { Connections, type HttpServer } from '../http/connections.js';
import {
  decisionHeaders,
  type Header,
  type HeaderFormat,
  type HeaderSettings,
  retryAfterSeconds,
} from '../http/headers.js';
import { ClockOffset } from '../http/headers/clock-offset.js';
import { hasBegun, isComplete } from '../http/http-client.js';
import { REQUEST_OPTIONS } from '../http/request-options.js';
import { RIGHT_SETTING, type TrustProxySetting } from '../http/trust-proxy.js';
import { ClientGoneError, IdentityMissingError } from '../identity/errors.js';
import type { IdentityResolver, OnMissingIdentity } from '../identity/identity.js';
import { IdentityChain } from '../identity/identity-chain.js';
import { addressResolver, ipv6PrefixOf, readsAddressHeader } from '../identity/resolvers.js';
import { LIMITER_OPTIONS } from '../limiter/options-table.js';
import { type LimiterParts, partsOf } from '../limiter/limiter-parts.js';
import type { RateLimiter } from '../limiter/rate-limiter.js';
import type { BoundPolicy } from '../policy/bound-policy.js';
import type { Decision } from '../policy/decision.js';
import { withElse } from '../policy/else-policies.js';
import { expectNoRoute } from '../policy/named-policies.js';
import { type Answer, attempt } from '../util/answer.js';
import { RateLimitConfigError } from '../util/config-error.js';
import { checkNames, readOption } from '../util/option-rules.js';
import { routeName } from '../watch/decision-event.js';
import { ProxyWatch, type SettingAt } from './proxy-watch.js';
import type { Answered, ServedRequest } from './served-request.js';

/** The options of what limits the requests of a server. All of them are optional. */
export interface RequestLimitOptions extends AddressListOptions<never> {
  /**
   * The resolvers of identities, in order. The first identity found is the one counted. Default `[ipIdentity()]`. Add header
   * identities only where a gateway sets these headers itself.
   *
   * @example identity: [{ kind: 'user', resolve: ({ user }: RateLimitRequest<{ user?: User }>) => user?.id }, ipIdentity()]
   */
  readonly identity?: readonly IdentityResolver<never>[] | undefined;
  /**
   * What happens to a request without the identity that a policy counts: `'ip'` (default) counts its address, `'reject'` answers
   * 401, `'throw'` is an error of the application. The latter two charge nothing.
   */
  readonly onMissingIdentity?: OnMissingIdentity | undefined;
  /** The format in which responses say what is left; default `'x-ratelimit'`. `false`: only `Retry-After`. */
  readonly headers?: HeaderFormat | false | undefined;
}

/** A framework whose requests are limited. */
export interface LimitedServer {
  readonly name: TrustProxySetting['platform'];
  /** The names of options that it adds. */
  readonly options?: readonly string[];
  readonly trustProxy: SettingAt;
}

/** The options, with their defaults. */
interface CheckedOptions extends AddressListOptions<ServedRequest> {
  readonly identity: readonly IdentityResolver<ServedRequest>[] | undefined;
  readonly onMissingIdentity: OnMissingIdentity;
  readonly headers: HeaderFormat | false;
}

/** The connections of all limits: Node warns of more than ten listeners, and a server may have a limit for each of its routes. */
const CONNECTIONS = new Connections();

/** The policies that requests of a server are limited by, and how these are answered. */
export class RequestLimits {
  private readonly policies: readonly BoundPolicy[];
  private readonly traits: RouteTraits;
  /** Whether no function says which of the policies count a request. */
  private readonly countsAll: boolean;
  private readonly functions: PolicyFunctions<ServedRequest>;
  private readonly charges: RequestCharges<ServedRequest>;
  private readonly lists: AddressLists<ServedRequest> | undefined;
  private readonly admission: Admission<ServedRequest>;
  private readonly parts: LimiterParts;
  private readonly proxies: ProxyWatch;
  private readonly watched = new WeakSet();
  /** See `ServedRequest`. */
  readonly names: readonly [server: string, limit: string];

  /**
   * @throws {RateLimitConfigError} for a limiter, a policy or an option that is wrong
   * @throws {LimiterClosedError} for a limiter that is closed
   */
  constructor(
    limiter: RateLimiter,
    policies: LimiterPolicy | readonly LimiterPolicy[],
    given: RequestLimitOptions,
    { name: server, options: more = [], trustProxy }: LimitedServer,
  ) {
    const where = `floodgate/${server}`;
    const parts = (this.parts = partsOf(limiter, where));
    const known = [...Object.keys(REQUEST_OPTIONS), ...more];
    checkNames(given, known, where, '', (option) => placeOf(option, server));
    const options = Object.fromEntries(
      Object.entries(REQUEST_OPTIONS).map(([name, rule]) => [name, readOption(given, name, rule, where)]),
    ) as unknown as CheckedOptions;
    const { identity = [], onMissingIdentity, headers } = options;
    const chain = (ipv6Prefix: number): IdentityChain<ServedRequest> =>
      new IdentityChain<ServedRequest>(
        identity,
        requestOf,
        onMissingIdentity,
        parts.functions,
        {
          address: addressResolver({}),
          hasGone: (served) => this.hasGone(served),
          place: routeName,
          unaddressed: ({ request }) => (request.socket === undefined ? unaddressed(where) : undefined),
        },
        undefined,
        ipv6Prefix,
      );
    const identities = chain(ipv6PrefixOf(identity, where));
    const bound = (this.policies = parts.bind(policies, where));
    for (const policy of bound) check(policy, identities, where);
    this.names = [server, bound.map(({ name }) => name).join('+')];
    this.traits = routeTraitsOf(withElse(bound));
    this.countsAll = bound.every(({ skipIf }) => skipIf === undefined);
    const functions = (this.functions = new PolicyFunctions(parts.functions, requestOf));
    this.charges = new RequestCharges(parts.functions, functions, undefined, (policy, served, resolved) =>
      identities.tag(policy, served, resolved),
    );
    this.proxies = new ProxyWatch(
      (request) => (readsAddressHeader(identity) ? undefined : trustProxy(request)),
      (warning) => parts.warnOnce(warning),
    );
    const { engine, waitingRoom, pending, monitor } = parts;
    this.lists = AddressLists.of(options, where, requestOf, parts.functions, monitor, chain(ALL_BITS));
    const answers = new Answers({ headers, offset: new ClockOffset() });
    this.admission = new Admission(engine, waitingRoom, answers, pending, monitor);
  }

  /**
   * Takes a request through the lists and the policies. Synchronous steps are not awaited.
   *
   * @returns the answer to a request that does not pass, else undefined
   * @throws what an application's function throws, and the errors of `onMissingIdentity: 'throw'`
   */
  pass(served: ServedRequest): Answer<Answered | undefined> {
    const { lists } = this;
    this.watch(served);
    this.proxies.see(served.request);
    return attempt<boolean, Answered | undefined>(
      () => (lists === undefined ? this.limit(served) : this.passUnlisted(lists, served)),
      (passed) => (passed ? undefined : served.answer),
      answerTo,
    );
  }

  private passUnlisted(lists: AddressLists<ServedRequest>, served: ServedRequest): Answer<boolean> {
    return attempt<Listed, boolean>(
      () => lists.of(served),
      (listed) => {
        if (listed === 'allow') return true;
        if (listed === 'neither') return this.limit(served);
        served.answer = { status: 403, headers: [], body: addressBlockedBody() };
        return false;
      },
      rethrown,
    );
  }

  private limit(served: ServedRequest): Answer<boolean> {
    if (this.countsAll) return this.charge(served, this.policies);
    return this.functions.counting(this.policies, served).then((counting) => this.charge(served, counting));
  }

  private charge(served: ServedRequest, policies: readonly BoundPolicy[]): Answer<boolean> {
    const charges = this.charges.makeAll(policies, served);
    if (!(charges instanceof Promise)) return this.admit(served, charges);
    return charges.then((made) => this.admit(served, made));
  }

  private admit(served: ServedRequest, charges: readonly PolicyCharge[]): Answer<boolean> {
    if (charges.length === 0) return true;
    this.parts.expectOpen();
    const record = RequestRecord.of(served.key);
    return this.admission.admit({ route: this.traits, context: served, charges, record, shared: undefined });
  }

  /** Keeps the addresses of connections, from the first limited request of each server on, and looks at the server's setting. */
  private watch({ request }: ServedRequest): void {
    const { server } = (request.raw?.socket ?? request.socket ?? {}) as { readonly server?: HttpServer };
    if (server === undefined || this.watched.has(server)) return;
    this.watched.add(server);
    CONNECTIONS.watch(server);
    this.proxies.begin(request);
  }

  private hasGone({ request }: ServedRequest): boolean {
    return (request.raw?.socket ?? request.socket) !== undefined && CONNECTIONS.isLost(request);
  }
}

/** The bits of an address in a list. */
const ALL_BITS = 128;

/** Answers requests. */
class Answers implements Transport<ServedRequest> {
  constructor(private readonly settings: HeaderSettings) {}

  decided(served: ServedRequest, decision: Decision): void {
    const { response } = served;
    if (isComplete(response)) throw ClientGoneError.instance; // answered by a timeout, for example
    const headers = decisionHeaders(decision, Date.now(), this.settings);
    if (!decision.allowed) served.answer = rejected(decision, headers);
    else if (!hasBegun(response)) served.setHeaders(headers);
  }

  reject(served: ServedRequest, decision: Decision): boolean {
    served.answer ??= rejected(decision, decisionHeaders(decision, Date.now(), this.settings));
    return false;
  }

  failed(_served: ServedRequest, error: unknown): never {
    throw error;
  }

  exchange(served: ServedRequest): ReturnType<ServedRequest['exchange']> {
    return served.exchange();
  }
}

/** No cache may store a rejection (RFC 6585, section 4). */
function rejected(decision: Decision, headers: readonly Header[]): Answered {
  const { retryAfterMs } = decision;
  return answered(429, exceededBody(decision), headers, retryAfterMs === null ? null : retryAfterSeconds(retryAfterMs));
}

function answered(status: number, body: object, headers: readonly Header[], retryAfter: number | null): Answered {
  const retry: readonly Header[] = retryAfter === null ? [] : [['Retry-After', String(retryAfter)]];
  return { status, body, headers: [...headers, ...retry, ['Cache-Control', 'no-store']] };
}

/** The answer to a request that the limiter could not decide on. Other errors are the application's. */
function answerTo(error: unknown): Answered {
  if (error instanceof IdentityMissingError)
    return { status: 401, headers: [], body: identityMissingBody(error.policy) };
  if (error instanceof ClientGoneError) return answered(503, unavailableBody(error.message, 1), [], 1);
  if (error instanceof LimiterUnavailableError) {
    const seconds = Math.ceil(error.retryAfterMs / 1000);
    return answered(503, unavailableBody(error.toldToClients, seconds), [], seconds);
  }
  throw error;
}

function rethrown(error: unknown): never {
  throw error;
}

function requestOf({ request }: ServedRequest): ServedRequest['request'] {
  return request;
}

/** @throws {RateLimitConfigError} for a policy that cannot limit requests here */
function check(policy: BoundPolicy, identities: IdentityChain<ServedRequest>, where: string): void {
  const { name, plans } = policy;
  if (plans !== undefined) {
    throw new RateLimitConfigError(
      where,
      `policy '${name}' has plans, and nothing says which plan a request's client has: call RateLimiter.consume with { plan }`,
      'FG_INVALID_POLICY',
    );
  }
  expectNoRoute(policy, `${where}, policy '${name}'`);
  const lack = identities.lackOf(policy);
  if (lack !== undefined) throw new RateLimitConfigError(where, `policy '${name}' ${lack}`, 'FG_NO_RESOLVER');
}

/** The right place for an option that a server's limits do not have. */
function placeOf(option: string, server: LimitedServer['name']): string | undefined {
  if (option === 'trustProxy') return `Tell ${server} ${RIGHT_SETTING[server]}`;
  return Object.hasOwn(LIMITER_OPTIONS, option) ? 'Give it to createLimiter' : undefined;
}

function unaddressed(where: string): RateLimitConfigError {
  return new RateLimitConfigError(
    where,
    `a request has no identity that its policy counts, and no address: give identity, such as ` +
      `[ipIdentity({ header: 'CF-Connecting-IP' })] behind Cloudflare, or let the policy count by: 'global'`,
    'FG_CONFIGURATION',
  );
}
