import type { ExecutionContext, ModuleMetadata, Type } from '@nestjs/common';
import type { RateLimitModuleOptions } from '../options/module-options.js';
import type { ThrottlerStorageRecord } from './storage.js';

// The shapes of @nestjs/throttler 6, so that an application compiles after a change of its imports alone.

/** A request, response or socket as a platform gives it. */
// oxlint-disable-next-line typescript/no-explicit-any -- applications read any property of it, as they do with @nestjs/throttler
export type PlatformObject = Record<string, any>;

/** A value, or a function that finds it for each request. */
export type Resolvable<T extends number | string | boolean> = T | ((context: ExecutionContext) => T | Promise<T>);

/** Finds who is counted. `ThrottlerGuard.getTracker` is the default: the address of the client. */
export type ThrottlerGetTrackerFunction = (req: PlatformObject, context: ExecutionContext) => Promise<string> | string;

/** Finds what is counted together. `ThrottlerGuard.generateKey` is the default: a handler, a tracker and a throttler. */
export type ThrottlerGenerateKeyFunction = (
  context: ExecutionContext,
  trackerString: string,
  throttlerName: string,
) => string;

/** One throttler: at most `limit` hits, each of which counts for `ttl`. */
export interface ThrottlerOptions {
  /**
   * Names the throttler in decorators and headers: 1 to 56 characters of a header's name, or any printable ones with
   * `setHeaders: false`. Default `'default'`. Each throttler needs another name.
   */
  name?: string;
  /** Hits that pass: a whole number from 0 (none pass) to 1,000,000. */
  limit: Resolvable<number>;
  /** The time that a hit counts: milliseconds, from 1 ms to 100 years. */
  ttl: Resolvable<number>;
  /**
   * The time that a client stays rejected once it has passed the limit: milliseconds, from 1 ms to 100 years, default the
   * `ttl`. 0: until the oldest hit expires. A time that is shorter than the `ttl` must be at least 1,000.
   */
  blockDuration?: Resolvable<number>;
  /** Requests whose `User-Agent` matches are not counted. Default: that of the options. */
  ignoreUserAgents?: RegExp[];
  /** Requests for which it returns true are not counted. Default: that of the options. A promise is awaited for `deadline`. */
  skipIf?: (context: ExecutionContext) => boolean;
  /** Finds who is counted. Default: that of the options, else of the guard. */
  getTracker?: ThrottlerGetTrackerFunction;
  /** Finds what is counted together. Default: that of the options, else of the guard. */
  generateKey?: ThrottlerGenerateKeyFunction;
  /** Whether responses carry this throttler's headers. Default: that of the options, else true. */
  setHeaders?: boolean;
}

/** What a rejection is about, for messages. */
export interface ThrottlerLimitDetail extends ThrottlerStorageRecord {
  /** Milliseconds. */
  ttl: number;
  limit: number;
  key: string;
  tracker: string;
}

/** What `ThrottlerGuard.handleRequest` gets for each throttler of a request. */
export interface ThrottlerRequest {
  context: ExecutionContext;
  limit: number;
  /** Milliseconds. */
  ttl: number;
  throttler: ThrottlerOptions;
  /** Milliseconds. */
  blockDuration: number;
  getTracker: ThrottlerGetTrackerFunction;
  generateKey: ThrottlerGenerateKeyFunction;
}

/**
 * The options of `ThrottlerModule.forRoot` as an object: those of @nestjs/throttler 6, and those of `RateLimitModule`. The
 * latter say where hits are kept (`redis`, `store`, `onStoreFailure` ...) and serve routes that have `@RateLimit` already.
 */
export interface ThrottlerObjectOptions extends RateLimitModuleOptions {
  /** The throttlers. Each of them counts every request. */
  throttlers: ThrottlerOptions[];
  /** Requests whose `User-Agent` matches are not counted. Default none. A throttler may say otherwise. */
  ignoreUserAgents?: RegExp[];
  /** Requests for which it returns true are not counted. Default none. A throttler may say otherwise. */
  skipIf?: (context: ExecutionContext) => boolean;
  /** Finds who is counted. Default: the guard's, which takes the client's address. */
  getTracker?: ThrottlerGetTrackerFunction;
  /** Finds what is counted together. Default: the guard's, which takes the handler, the tracker and the throttler. */
  generateKey?: ThrottlerGenerateKeyFunction;
  /** The message of a rejection. Default `throttlerMessage`. */
  errorMessage?: string | ((context: ExecutionContext, throttlerLimitDetail: ThrottlerLimitDetail) => string);
  /** Not supported: hits are kept by Floodgate. `redis` shares them among processes. */
  storage?: never;
  /** The bits of an IPv6 address that count: 0 to 128, default 64. */
  ipv6SubnetPrefix?: number;
  /** Whether responses carry headers. Default true. A throttler may say otherwise. */
  setHeaders?: boolean;
}

/** The options of `ThrottlerModule.forRoot`: throttlers alone, or an object. */
export type ThrottlerModuleOptions = ThrottlerOptions[] | ThrottlerObjectOptions;

/** A class that makes the options, for `useClass` and `useExisting`. */
export interface ThrottlerOptionsFactory {
  createThrottlerOptions(): Promise<ThrottlerModuleOptions> | ThrottlerModuleOptions;
}

/** The options of `ThrottlerModule.forRootAsync`: one of `useFactory`, `useClass` and `useExisting`. */
export interface ThrottlerAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** A provider of another module that makes the options. Default none. */
  useExisting?: Type<ThrottlerOptionsFactory>;
  /** A class that makes the options. Nest creates it. Default none. */
  useClass?: Type<ThrottlerOptionsFactory>;
  /** A function that makes the options. It gets what `inject` names. Default none. */
  // oxlint-disable-next-line typescript/no-explicit-any -- Nest injects anything
  useFactory?: (...args: any[]) => Promise<ThrottlerModuleOptions> | ThrottlerModuleOptions;
  /** The tokens of what `useFactory` gets. Default none. */
  // oxlint-disable-next-line typescript/no-explicit-any -- Nest takes any token
  inject?: any[];
}
