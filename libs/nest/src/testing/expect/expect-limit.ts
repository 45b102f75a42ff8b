import { type Duration, RateLimitConfigError } from 'floodgate';
import { shown } from 'floodgate/internal';
import { durationToMicroseconds } from 'floodgate/internal-boot';
import { VirtualClock, VirtualStore } from 'floodgate/testing';
import { runtimeOf } from '../runtime-of.js';
import { Exchanges } from './exchange.js';
import { type HttpApplicationLike, HttpClient, type LimitReply, type LimitRequest } from './http-client.js';
import {
  checkIdentity,
  headersFor,
  type IdentityHeaders,
  identityHeaders,
  type TestIdentity,
} from './identity-headers.js';
import { LimitCheck, type Renewal } from './limit-check.js';
import { callerStack } from './report.js';

export interface ExpectLimitOptions {
  /**
   * The headers by which the application knows an identity: a token, a session. Default those of the resolvers in the module's
   * `identity` that read headers.
   *
   * @example as: ({ user }) => ({ authorization: `Bearer ${tokenOf(user)}` })
   */
  readonly as?: IdentityHeaders;
  /** The clock of the application's store. Default the clock of its `VirtualStore`. */
  readonly clock?: VirtualClock;
}

/** A burst that is being checked. Await it, or say how the limit renews itself. */
export interface AdmittedBurst extends Promise<void> {
  /** In a second exactly `count` more requests pass. A bucket admits them evenly. */
  perSecond(count: number): Promise<void>;
  /** In a minute exactly `count` more requests pass. */
  perMinute(count: number): Promise<void>;
  /** In an hour exactly `count` more requests pass. */
  perHour(count: number): Promise<void>;
  /** In 24 hours exactly `count` more requests pass. */
  perDay(count: number): Promise<void>;
  /**
   * The whole burst passes again in each such period: a window, or the time in which an empty bucket fills.
   *
   * @param period milliseconds, or text such as `'15m'`
   */
  per(period: Duration): Promise<void>;
}

interface Settings {
  readonly app: HttpApplicationLike;
  readonly options: ExpectLimitOptions;
  readonly request: LimitRequest;
  readonly identity: TestIdentity | undefined;
  readonly answering: number | undefined;
}

/** More requests take minutes. */
const MAX_REQUESTS = 100_000;

/** A route whose limit is expected. Each method returns a new object, so that a test can keep and vary one. */
export class LimitExpectation {
  /** @internal `expectLimit(app).get('/path')` makes it. */
  constructor(private readonly settings: Settings) {}

  /**
   * Sends the requests as a client.
   *
   * @param identity values by kind: the option `as` of `expectLimit`, or the module's header identities, make headers of them
   * @example .as({ user: 'ada' })
   */
  as(identity: TestIdentity): LimitExpectation {
    checkIdentity(identity);
    return this.with({ identity });
  }

  /** Sends these headers as well. */
  headers(headers: Readonly<Record<string, string>>): LimitExpectation {
    return this.with({
      request: { ...this.settings.request, headers: { ...this.settings.request.headers, ...headers } },
    });
  }

  /** Sends this body: an object as JSON, text and bytes as they are. */
  body(body: unknown): LimitExpectation {
    return this.with({ request: { ...this.settings.request, body } });
  }

  /** The status of admitted requests, such as the 401 of a failed login. Default any from 200 to 399. */
  answering(status: number): LimitExpectation {
    return this.with({ answering: status });
  }

  /** Sends one request and returns the answer. A delayed request is answered once the clock is advanced. */
  async send(): Promise<LimitReply> {
    return HttpClient.of(this.settings.app).send(await this.request());
  }

  /**
   * Sends `count` requests and one more, one after another, while the clock stands still: the limiter has to admit all but the
   * last, which has to get a 429. A request that waits for a leaky bucket's slot is admitted. The clock moves with `perSecond` and
   * its like only, and stays where they leave it.
   *
   * @param count a whole number from 0 to 100,000
   * @throws {AssertionError} rejects with it when the limit is another one: what was expected, what happened, the decisions and headers
   * @throws {RateLimitConfigError} when the application has no limiter, or no virtual clock
   */
  toAdmit(count: number): AdmittedBurst {
    checkCount('toAdmit', count, 0);
    const stack = callerStack();
    const burst = this.check(stack).then(async (check) => {
      await check.admits(count);
      return check;
    });
    const admitted = burst.then(() => undefined);
    const after = async (step: (check: LimitCheck) => Promise<void>): Promise<void> => {
      admitted.catch(() => undefined); // the test awaits what follows
      await step(await burst);
    };
    const refill = (method: string, interval: string) => (more: number) => {
      checkCount(method, more, 1);
      return after((check) => check.refills(more, renewal(method, interval)));
    };
    return Object.assign(admitted, {
      perSecond: refill('perSecond', '1s'),
      perMinute: refill('perMinute', '1m'),
      perHour: refill('perHour', '1h'),
      perDay: refill('perDay', '24h'),
      per: (period: Duration) => {
        const expected = renewal('per', period);
        return after((check) => check.renews(expected));
      },
    });
  }

  private async check(stack: string): Promise<LimitCheck> {
    const { app, options, identity, answering } = this.settings;
    const { monitor, store } = runtimeOf('expectLimit', app).parts;
    const clock = options.clock ?? (store instanceof VirtualStore ? store.virtualClock : undefined);
    if (clock === undefined) throw noClock(store);
    const request = await this.request();
    const exchanges = new Exchanges(HttpClient.of(app), request, clock, monitor);
    return new LimitCheck({ request, identity, stack }, exchanges, answering);
  }

  /** The request with the headers of its identity. */
  private async request(): Promise<LimitRequest> {
    const { app, options, request, identity } = this.settings;
    if (identity === undefined) return request;
    const as = options.as ?? headersFor(runtimeOf('expectLimit', app).options.identity ?? []);
    return { ...request, headers: { ...request.headers, ...(await identityHeaders(as, identity)) } };
  }

  private with(changed: Partial<Settings>): LimitExpectation {
    return new LimitExpectation({ ...this.settings, ...changed });
  }
}

/** The routes of an application, for expectations. */
export interface LimitedApplication {
  get(path: string): LimitExpectation;
  head(path: string): LimitExpectation;
  post(path: string): LimitExpectation;
  put(path: string): LimitExpectation;
  patch(path: string): LimitExpectation;
  delete(path: string): LimitExpectation;
}

/**
 * Expects limits of a running application, over real HTTP and on the virtual clock of its store. An application that does not
 * listen yet listens on a free port of 127.0.0.1; `app.close()` ends it.
 *
 * @param options.as the headers by which the application knows an identity
 * @param options.clock the clock of a store of your own
 * @throws {RateLimitConfigError} when it gets no application, or an unknown option
 * @example
 * ```ts
 * await expectLimit(app).get('/search').as({ user: 'ada' }).toAdmit(20).perSecond(10);
 * await expectLimit(app).post('/login').body({ password: 'wrong' }).answering(401).toAdmit(5).per('15m');
 * ```
 */
export function expectLimit(app: HttpApplicationLike, options: ExpectLimitOptions = {}): LimitedApplication {
  runtimeOf('expectLimit', app);
  checkOptions(options);
  const of = (method: string) => (path: string) => {
    if (typeof path !== 'string' || !path.startsWith('/')) {
      throw new RateLimitConfigError(
        `expectLimit, ${method.toLowerCase()}`,
        `takes a path such as '/rides', got ${shown(path)}`,
      );
    }
    const request = { method, path, headers: {}, body: undefined };
    return new LimitExpectation({ app, options, request, identity: undefined, answering: undefined });
  };
  return {
    get: of('GET'),
    head: of('HEAD'),
    post: of('POST'),
    put: of('PUT'),
    patch: of('PATCH'),
    delete: of('DELETE'),
  };
}

function checkOptions({ as, clock, ...others }: ExpectLimitOptions): void {
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw new RateLimitConfigError(
      'expectLimit',
      `${shown(unknown)} is not an option; the options are as and clock`,
      'FG_UNKNOWN_OPTION',
    );
  }
  if (as !== undefined && typeof as !== 'function') {
    throw new RateLimitConfigError(
      'expectLimit',
      `as must be a function from an identity to headers, got ${shown(as)}`,
    );
  }
  if (clock !== undefined && !(clock instanceof VirtualClock)) {
    throw new RateLimitConfigError('expectLimit', `clock must be a VirtualClock, got ${shown(clock)}`);
  }
}

function checkCount(method: string, count: unknown, from: number): void {
  if (Number.isInteger(count) && (count as number) >= from && (count as number) <= MAX_REQUESTS) return;
  throw new RateLimitConfigError(
    `expectLimit, ${method}`,
    `takes a whole number of requests from ${from} to ${MAX_REQUESTS}, got ${shown(count)}`,
  );
}

function renewal(method: string, period: Duration): Renewal {
  const microseconds = durationToMicroseconds(period);
  if (microseconds !== undefined) return { text: typeof period === 'number' ? `${period} ms` : period, microseconds };
  throw new RateLimitConfigError(
    `expectLimit, ${method}`,
    `takes milliseconds or text such as '15m', got ${shown(period)}`,
  );
}

function noClock(store: object): RateLimitConfigError {
  return new RateLimitConfigError(
    'expectLimit',
    `the limits are kept in ${store.constructor?.name || 'a store of your own'}, whose clock the kit cannot move. ` +
      `Use overrideRateLimitStore(builder, clock), or forRoot({ store: new VirtualStore(clock) }); for another store on a ` +
      `VirtualClock give { clock }`,
  );
}
