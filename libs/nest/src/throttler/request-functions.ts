import type { ExecutionContext } from '@nestjs/common';
import { RateLimitConfigError } from 'floodgate';
import { type FunctionKind, shown } from 'floodgate/internal';
import { isPromise, readable, type UserFunctions } from 'floodgate/internal-boot';
import { numberOf } from './check-options.js';
import type {
  PlatformObject,
  Resolvable,
  ThrottlerGenerateKeyFunction,
  ThrottlerGetTrackerFunction,
} from './options.js';
import type { RouteThrottler } from './route-throttlers.js';
import type { ThrottlerNumbers } from './storage-policies.js';

/** The functions that replace those for trackers and keys. */
export interface Defaults {
  getTracker(req: PlatformObject): string | Promise<string>;
  generateKey(context: ExecutionContext, tracker: string, name: string): string;
}

/** A step of the guard: an option, or a method that a subclass overrides. */
interface Step<T> {
  readonly kind: FunctionKind;
  /** Names it in a warning. */
  readonly name: string;
  /** Ends the warning: what happens without its answer. */
  readonly instead: string;
  readonly otherwise: () => T;
  /** How many times the deadline it may take; default 1. */
  readonly deadlines?: number;
}

const LATE = Symbol('no answer within the deadline');

/**
 * The application's functions during one request. What one throws is the request's answer, as with @nestjs/throttler: a tracker
 * may answer 401. One that does not settle within the deadline is left out, and not asked again for the request: an application
 * with many throttlers would wait for each.
 */
export class RequestFunctions {
  private late: Set<unknown> | undefined;

  constructor(
    private readonly functions: Pick<UserFunctions, 'step'>,
    private readonly context: ExecutionContext,
    private readonly defaults: Defaults,
  ) {}

  /**
   * What a function answers; a promise only where the function returns one.
   *
   * @param asked tells functions apart: the function, or the name of a method
   */
  ask<T>(asked: unknown, run: () => T | PromiseLike<T>, step: Step<T>): T | Promise<T> {
    if (this.late?.has(asked) === true) return step.otherwise();
    let returned: T | PromiseLike<T>;
    try {
      returned = run();
    } catch (error) {
      throw readable(error);
    }
    return isPromise(returned) ? this.within(asked, returned, step) : returned;
  }

  /** Whether `skipIf` leaves a throttler out. */
  skips({ throttler }: RouteThrottler, skipIf: (context: ExecutionContext) => boolean): boolean | Promise<boolean> {
    return this.ask<boolean>(skipIf, () => skipIf(this.context), {
      kind: 'skipIf',
      name: of('skipIf', throttler.name!),
      instead: 'the request is counted',
      otherwise: () => false,
    });
  }

  /** The numbers of a throttler; undefined when the request has to pass without it. */
  async numbers({ throttler, overrides }: RouteThrottler): Promise<ThrottlerNumbers | undefined> {
    const name = throttler.name!;
    const without = 'the request passes without this throttler';
    const limit = await this.number('limit', name, [overrides.limit, throttler.limit], without);
    if (limit === undefined) return undefined;
    const ttl = await this.number('ttl', name, [overrides.ttl, throttler.ttl], without);
    if (ttl === undefined) return undefined;
    const given = [overrides.blockDuration, throttler.blockDuration];
    const blockDuration = await this.number('blockDuration', name, given, 'the ttl takes its place');
    return { limit, ttl, blockDuration: blockDuration ?? ttl };
  }

  /** `getTracker` within the deadline. */
  tracker(getTracker: ThrottlerGetTrackerFunction, name: string): ThrottlerGetTrackerFunction {
    return (req, context) =>
      this.ask(getTracker, () => getTracker(req, context), {
        kind: 'identity',
        name: of('getTracker', name),
        instead: 'the request counts by its address',
        otherwise: () => this.defaults.getTracker(req) as string,
      });
  }

  /** `generateKey` within the deadline. It is declared without a promise, and returns one where the given function does. */
  key(generateKey: ThrottlerGenerateKeyFunction): ThrottlerGenerateKeyFunction {
    return (context, tracker, name) =>
      this.ask(generateKey, () => generateKey(context, tracker, name), {
        kind: 'identity',
        name: of('generateKey', name),
        instead: 'the request counts by its handler and tracker',
        otherwise: () => this.defaults.generateKey(context, tracker, name),
      }) as string;
  }

  /**
   * The first of the given numbers whose function answers; undefined when none is given, or none answers.
   *
   * @param without what happens without any
   */
  private async number(
    option: keyof ThrottlerNumbers,
    throttler: string,
    [own, shared]: readonly (Resolvable<number> | undefined)[],
    without: string,
  ): Promise<number | undefined> {
    let found: unknown = LATE;
    if (own !== undefined && own !== null) {
      const instead = shared === undefined ? without : 'that of the module takes its place';
      found = await this.resolved(own, of(option, throttler), instead);
    }
    if (found === LATE) {
      if (shared === undefined || shared === null) return undefined;
      found = await this.resolved(shared, of(option, throttler), without);
    }
    if (found === LATE) return undefined;
    const value = numberOf(found);
    if (typeof value === 'number' && !Number.isNaN(value)) return value;
    throw new RateLimitConfigError(
      `throttler ${shown(throttler)}`,
      `${option} must be a number, got ${shown(value)}`,
      'FG_INVALID_POLICY',
    );
  }

  private resolved(given: Resolvable<number>, name: string, instead: string): unknown {
    if (typeof given !== 'function') return given;
    return this.ask<unknown>(given, () => given(this.context), {
      kind: 'policy',
      name,
      instead,
      otherwise: () => LATE,
    });
  }

  private async within<T>(asked: unknown, answer: PromiseLike<T>, step: Step<T>): Promise<T> {
    const otherwise = (): T => {
      (this.late ??= new Set()).add(asked);
      return step.otherwise();
    };
    return this.functions.step<T>(step.kind, `${step.name} failed, ${step.instead}`, answer, otherwise, step.deadlines);
  }
}

function of(option: string, throttler: string): string {
  return `${option} of throttler ${shown(throttler)}`;
}
