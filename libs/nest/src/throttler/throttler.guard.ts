import {
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  type Logger,
  type OnModuleInit,
  Optional,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { createHash } from 'node:crypto';
import { ClientGoneError, type FunctionObserver, type HttpRequest, withHelp } from 'floodgate/internal';
import { DEFAULT_NAME, readable, UserFunctions } from 'floodgate/internal-boot';
import { RateLimitUnavailableException, toHttpException } from '../exceptions/exceptions.js';
import { RateLimitLogger } from '../handlers/logger.js';
import { reportLater } from '../guard/guard-steps.js';
import { RateLimitRuntime } from '../guard/rate-limit.runtime.js';
import { objectOf, throttlersOf } from './check-options.js';
import { InjectThrottlerOptions, InjectThrottlerStorage } from './decorators.js';
import { DEFAULT_IPV6_SUBNET_PREFIX, normalizeIp } from './ip.js';
import type {
  PlatformObject,
  ThrottlerLimitDetail,
  ThrottlerModuleOptions,
  ThrottlerOptions,
  ThrottlerRequest,
} from './options.js';
import { type Defaults, RequestFunctions } from './request-functions.js';
import { type RouteThrottler, RouteThrottlers } from './route-throttlers.js';
import type { ThrottlerStorage } from './storage.js';
import { ThrottlerException, throttlerMessage } from './throttler.exception.js';

/** A guard that was made with new has no metrics. */
const UNOBSERVED: FunctionObserver = { functionFailed: () => undefined };

/** The options of all guards that were made: the module warns when none has its options. */
const guarded = new WeakSet<object>();

/** Whether a guard was made with these options. */
export function isGuarded(options: ThrottlerModuleOptions): boolean {
  return guarded.has(options);
}

/** The deadline of a guard without a module, which is the module's default. */
const DEADLINE_MS = 50;

/**
 * Limits the routes that it is bound to, as the guard of @nestjs/throttler 6 does, on Floodgate's engine. The throttlers of a
 * request are asked one after the other, the shortest `ttl` first. The first one that rejects ends the request; those before it
 * have counted it.
 *
 * Made to be extended: every protected member means what it means in @nestjs/throttler.
 *
 * @example { provide: APP_GUARD, useClass: ThrottlerGuard }
 */
@Injectable()
export class ThrottlerGuard implements CanActivate, OnModuleInit {
  protected headerPrefix = 'X-RateLimit';
  protected logger: Logger = new RateLimitLogger(ThrottlerGuard.name);
  protected errorMessage: string = throttlerMessage;
  protected throttlers: ThrottlerOptions[] = [];
  protected commonOptions: Pick<
    ThrottlerOptions,
    'skipIf' | 'ignoreUserAgents' | 'getTracker' | 'generateKey' | 'setHeaders'
  > = {};
  protected ipv6SubnetPrefix: number = DEFAULT_IPV6_SUBNET_PREFIX;
  /** Undefined in a guard that was made with new. */
  @Optional() @Inject(RateLimitRuntime) private readonly runtime: RateLimitRuntime | undefined;
  private routes = new RouteThrottlers([]);
  private functions: UserFunctions | undefined;
  /** The guard's own functions, since an override of a subclass may be the function that is late. */
  private readonly defaults: Defaults = {
    getTracker: (req) => ThrottlerGuard.prototype.getTracker.call(this, req),
    generateKey: (context, tracker, name) => ThrottlerGuard.prototype.generateKey.call(this, context, tracker, name),
  };

  constructor(
    @InjectThrottlerOptions() protected readonly options: ThrottlerModuleOptions,
    @InjectThrottlerStorage() protected readonly storageService: ThrottlerStorage,
    // The package is built without the types that Nest would read.
    @Inject(Reflector) protected readonly reflector: Reflector,
  ) {
    if (typeof options === 'object' && options !== null) guarded.add(options);
  }

  /** Reads the options. A guard that was made with new needs a call of it. */
  async onModuleInit(): Promise<void> {
    this.throttlers = throttlersOf(this.options).map((throttler) => ({
      ...throttler,
      name: throttler.name ?? DEFAULT_NAME,
    }));
    this.throttlers.sort(byTtl);
    if (this.throttlers.length === 0) {
      this.logger.warn(
        withHelp(
          'ThrottlerModule has no throttlers, so nothing is limited: give at least one, as in ThrottlerModule.forRoot([{ limit: 10, ttl: 60_000 }])',
          'FG_NOT_LIMITED',
        ),
      );
    }
    const { skipIf, ignoreUserAgents, getTracker, generateKey, setHeaders, ipv6SubnetPrefix } = objectOf(this.options);
    this.commonOptions = {
      ...(skipIf && { skipIf }),
      ...(ignoreUserAgents && { ignoreUserAgents }),
      ...(setHeaders !== undefined && { setHeaders }),
      getTracker: getTracker ?? this.getTracker.bind(this),
      generateKey: generateKey ?? this.generateKey.bind(this),
    };
    this.ipv6SubnetPrefix = ipv6SubnetPrefix ?? DEFAULT_IPV6_SUBNET_PREFIX;
    this.routes = new RouteThrottlers(this.throttlers);
  }

  /**
   * @throws {ThrottlerException} 429, when a throttler rejects the request
   * @throws {RateLimitUnavailableException} 503, when the store fails and `onStoreFailure` is `'closed'`
   */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    try {
      return await this.limit(context);
    } catch (error) {
      throw readable(error);
    }
  }

  private async limit(context: ExecutionContext): Promise<boolean> {
    const functions = this.functionsOf(context);
    const skips = functions.ask<boolean>('shouldSkip', () => this.shouldSkip(context), {
      kind: 'skipIf',
      name: 'ThrottlerGuard.shouldSkip',
      instead: 'the request is counted',
      otherwise: () => false,
    });
    if (await skips) return true;
    let passes = true;
    for (const route of this.routes.of(context.getClass(), context.getHandler())) {
      if (route.skipped) continue;
      const skipIf = route.throttler.skipIf ?? this.commonOptions.skipIf;
      // @nestjs/throttler takes a promise for true, and limits nothing then.
      if (skipIf !== undefined && (await functions.skips(route, skipIf))) continue;
      const request = await this.requestOf(route, context, functions);
      if (request !== undefined && !(await this.handleRequest(request))) passes = false;
    }
    return passes;
  }

  /** Requests for which it is true are not counted. */
  protected async shouldSkip(_context: ExecutionContext): Promise<boolean> {
    return false;
  }

  /** Asks one throttler about a request: counts it, sets headers, and throws when the throttler rejects it. */
  protected async handleRequest(requestProps: ThrottlerRequest): Promise<boolean> {
    const { context, limit, ttl, throttler, blockDuration, getTracker, generateKey } = requestProps;
    const { req, res } = this.getRequestResponse(context);
    const ignored = throttler.ignoreUserAgents ?? this.commonOptions.ignoreUserAgents ?? [];
    if (ignored.some((pattern) => pattern.test(req.headers['user-agent']))) return true;
    const name = throttler.name ?? DEFAULT_NAME;
    const tracker = await getTracker(req, context);
    // A client that resets its connection has no address: it would have a second count.
    if (tracker === undefined && this.runtime?.hasGone(context) === true)
      throw toHttpException(ClientGoneError.instance);
    const key = await (generateKey(context, tracker, name) as string | Promise<string>);
    const record = await this.count(res, () => this.storageService.increment(key, ttl, limit, blockDuration, name));
    const { totalHits, timeToExpire, isBlocked, timeToBlockExpire } = record;
    const hasHeaders = (throttler.setHeaders ?? this.commonOptions.setHeaders ?? true) && record.uncounted !== true;
    const set = (header: string, value: number): void => {
      if (hasHeaders) this.setHeader(res, name === DEFAULT_NAME ? header : `${header}-${name}`, value);
    };
    if (isBlocked) {
      set('Retry-After', timeToBlockExpire);
      await this.reject(context, {
        limit,
        ttl,
        key,
        tracker,
        totalHits,
        timeToExpire,
        isBlocked,
        timeToBlockExpire,
      });
    }
    set(`${this.headerPrefix}-Limit`, limit);
    set(`${this.headerPrefix}-Remaining`, Math.max(0, limit - totalHits));
    set(`${this.headerPrefix}-Reset`, timeToExpire);
    return true;
  }

  /** Who is counted: the address of the client, IPv6 cut to `ipv6SubnetPrefix`. */
  protected async getTracker(req: PlatformObject): Promise<string> {
    if (req.headers !== undefined) this.runtime?.forwarded.see(req as HttpRequest);
    return normalizeIp(req.ip as string, this.ipv6SubnetPrefix);
  }

  /** Sets a header on the response of Express or Fastify. */
  protected setResponseHeader(res: PlatformObject, name: string, value: string | number): void {
    if (typeof res.header === 'function') res.header(name, value);
    else if (typeof res.setHeader === 'function') res.setHeader(name, value);
  }

  /** The request and the response. Contexts that are not HTTP keep them elsewhere. */
  protected getRequestResponse(context: ExecutionContext): { req: PlatformObject; res: PlatformObject } {
    const http = context.switchToHttp();
    return { req: http.getRequest(), res: http.getResponse() };
  }

  /** What is counted together: a tracker's requests to one handler, for each throttler. */
  protected generateKey(context: ExecutionContext, suffix: string, name: string): string {
    const parts = [context.getClass().name, context.getHandler().name, name, suffix];
    return createHash('sha256').update(parts.join('\n')).digest('hex');
  }

  /** Answers a rejected request, by throwing. A guard that does not throw lets the request pass. */
  protected async throwThrottlingException(
    context: ExecutionContext,
    throttlerLimitDetail: ThrottlerLimitDetail,
  ): Promise<void> {
    const message = this.functionsOf(context).ask<string>(
      'getErrorMessage',
      () => this.getErrorMessage(context, throttlerLimitDetail),
      {
        kind: 'problem',
        name: 'errorMessage',
        instead: 'the default takes its place',
        otherwise: () => this.errorMessage,
      },
    );
    throw new ThrottlerException(await message);
  }

  /** The message of a rejection. */
  protected async getErrorMessage(
    context: ExecutionContext,
    throttlerLimitDetail: ThrottlerLimitDetail,
  ): Promise<string> {
    const { errorMessage } = objectOf(this.options);
    if (typeof errorMessage === 'function') return errorMessage(context, throttlerLimitDetail);
    return errorMessage || this.errorMessage;
  }

  /** Undefined when a function for a number is late, and the throttler has to be left out. */
  private async requestOf(
    route: RouteThrottler,
    context: ExecutionContext,
    functions: RequestFunctions,
  ): Promise<ThrottlerRequest | undefined> {
    const numbers = await functions.numbers(route);
    if (numbers === undefined) return undefined;
    const { throttler, overrides } = route;
    const getTracker = overrides.getTracker ?? throttler.getTracker ?? this.commonOptions.getTracker!;
    const generateKey = overrides.generateKey ?? throttler.generateKey ?? this.commonOptions.generateKey!;
    return {
      context,
      ...numbers,
      throttler,
      getTracker: functions.tracker(getTracker, throttler.name!),
      generateKey: functions.key(generateKey),
    };
  }

  /** Answers a rejected request. An override that does not settle must not hold the request up. */
  private async reject(context: ExecutionContext, detail: ThrottlerLimitDetail): Promise<void> {
    const rejected = this.functionsOf(context).ask<void>(
      'throwThrottlingException',
      () => this.throwThrottlingException(context, detail),
      {
        kind: 'problem',
        name: 'throwThrottlingException',
        instead: 'the request gets the default answer',
        otherwise: () => {
          throw new ThrottlerException(this.errorMessage);
        },
        deadlines: 2, // one for `getErrorMessage`
      },
    );
    await rejected;
  }

  /** Nothing waits for an override that returns a promise. */
  private setHeader(res: PlatformObject, name: string, value: string | number): void {
    reportLater(this.calls, this, 'setResponseHeader', this.setResponseHeader(res, name, value));
  }

  private get calls(): UserFunctions {
    return (this.functions ??=
      this.runtime?.parts.functions ?? new UserFunctions(DEADLINE_MS, UNOBSERVED, this.logger));
  }

  private functionsOf(context: ExecutionContext): RequestFunctions {
    return new RequestFunctions(this.calls, context, this.defaults);
  }

  /** Counts a hit. A store that cannot decide is a 503 that says when to retry. */
  private async count<T>(res: PlatformObject, increment: () => Promise<T>): Promise<T> {
    try {
      return await increment();
    } catch (error) {
      const exception = toHttpException(error);
      if (exception instanceof RateLimitUnavailableException) this.setHeader(res, 'Retry-After', exception.retryAfter);
      throw exception;
    }
  }
}

/** The shortest first. A `ttl` that is a function stays where it is. */
function byTtl(one: ThrottlerOptions, other: ThrottlerOptions): number {
  if (typeof one.ttl === 'function') return 1;
  return typeof other.ttl === 'function' ? 0 : one.ttl - other.ttl;
}
