import type { LimitableHandler } from '../contexts/limitable-handlers.js';
import type { GuardCheck } from '../routes/known-handlers.js';
import type { ExecutionContext, Type } from '@nestjs/common';
import { type Answer, type Logger, type SheddingStats, shown, withHelp } from 'floodgate/internal';
import {
  adopted,
  allOf,
  andThen,
  isPromise,
  LoadShedder,
  RationedWarning,
  type RequestRecord,
  type UserFunctions,
} from 'floodgate/internal-boot';
import { shedWarnings } from './shed-warnings.js';
import type { CheckedShed } from '../options/shed-settings.js';
import { isExempt } from '../routes/route-sources.js';
import type { Handler } from '../handlers/route.js';
import type { RoutePolicies, Route } from '../routes/route-policies.js';
import type { BoundPolicy } from '../types.js';
import { RateLimitShedException } from '../exceptions/exceptions.js';
import { requestOf } from '../contexts/http-context.js';

const CHECK_FAILED = 'check of shed failed, the process counts as not over it';
const PRIORITY_FAILED = 'priority of shed failed, the request passes';

/** The application as it starts. */
interface Boot {
  readonly handlers: readonly LimitableHandler[];
  readonly routes: RoutePolicies;
  readonly isGuarded: GuardCheck;
}

/** The guard's step that rejects requests while the process is over a threshold of the module's `shed`. */
export class ShedRequests {
  private readonly shedder: LoadShedder;
  private readonly warnings: RationedWarning;
  /** One exception for all requests of a class: thousands may be rejected in a second, and a stack trace takes longest. */
  private readonly exceptions: ReadonlyMap<string, RateLimitShedException>;

  /** @param middleware what limits requests before they are routed */
  constructor(
    private readonly settings: CheckedShed,
    private readonly functions: UserFunctions,
    private readonly logger: Pick<Logger, 'log' | 'warn'>,
    private readonly middleware: Route | undefined,
  ) {
    const { check } = settings.thresholds;
    const thresholds = { ...settings.thresholds, check: check && (() => this.checked(check)) };
    this.warnings = new RationedWarning(logger);
    this.exceptions = new Map(
      settings.classes.map((name) => [name, new RateLimitShedException(name, settings.retryAfter)]),
    );
    this.shedder = new LoadShedder({ ...settings, thresholds }, (stats) => this.report(stats));
  }

  /** Warns of what can have no effect, and begins to measure the process. */
  start({ handlers, routes, isGuarded }: Boot): void {
    const guarded = handlers.filter(({ type, handler }) => isGuarded(type, handler));
    const canShed = guarded.some(({ type, handler }) => this.canShed(type, handler, routes.of(type, handler)));
    const policies = guarded.flatMap(({ type, handler }) => classified(routes.of(type, handler)));
    const known = new Set(policies.flatMap(({ priorities }) => [...priorities!.keys()]));
    for (const warning of shedWarnings(this.settings, canShed, known)) {
      this.logger.warn(withHelp(warning, 'FG_OPTION_WITHOUT_EFFECT'));
    }
    this.shedder.start();
  }

  stop(): void {
    this.shedder.stop();
  }

  stats(): { readonly shedding: SheddingStats } {
    return { shedding: this.shedder.stats() };
  }

  /** Whether requests may be rejected: all that a request reads of a process that keeps up. */
  get active(): boolean {
    return this.shedder.active;
  }

  /**
   * The rejection of a request; undefined where the request passes.
   *
   * @param route undefined for a handler that no policy limits
   */
  rejection(
    route: Route | undefined,
    context: ExecutionContext,
    record: RequestRecord,
  ): Answer<RateLimitShedException | undefined> {
    const isRouted = route === undefined || route !== this.middleware;
    if (isRouted ? isExempt(context.getClass(), context.getHandler()) : !this.settings.beforeRouting) return undefined;
    return andThen(this.priorityOf(route, context), (priority) => {
      if (priority === undefined || !record.isShed(priority, (name) => this.shedder.rejects(name))) return undefined;
      return this.exceptions.get(priority);
    });
  }

  /** Whether a request of the handler can ever be rejected. */
  canShed(type: Type, handler: Handler, route: Route | undefined): boolean {
    if (isExempt(type, handler)) return false;
    if (this.settings.priority !== undefined) return true;
    return classified(route).some(
      ({ priority, priorityOf }) => priorityOf !== undefined || this.shedder.rankOf(priority!) !== undefined,
    );
  }

  /** The class of a request: no other code decides it. Undefined for a request without one, which is never shed. */
  private priorityOf(route: Route | undefined, context: ExecutionContext): Answer<string | undefined> {
    const { priority } = this.settings;
    if (typeof priority === 'string') return priority;
    if (priority === undefined) return andThen(this.ofPolicies(route, context), (names) => this.lowest(names));
    const found = this.functions.call<unknown>(
      'priority',
      PRIORITY_FAILED,
      () => priority(requestOf(context), context),
      () => undefined,
      priority,
      context,
    );
    return andThen(found, (name) => {
      if (typeof name === 'string' || name === undefined || name === null) return name ?? undefined;
      this.functions.failed(
        'priority',
        PRIORITY_FAILED,
        new TypeError(`it must return the name of a class, or nothing, got ${shown(name)}`),
      );
      return undefined;
    });
  }

  /** The classes that the policies of a handler give a request, undefined for one whose function fails. */
  private ofPolicies(route: Route | undefined, context: ExecutionContext): Answer<readonly (string | undefined)[]> {
    return allOf(classified(route).map((policy) => this.ofPolicy(policy, context)));
  }

  private ofPolicy({ name, priority, priorityOf }: BoundPolicy, context: ExecutionContext): Answer<string | undefined> {
    if (priorityOf === undefined) return priority;
    const found = this.functions.call<unknown>(
      'priority',
      `priority of policy '${name}' failed, the request is not shed`,
      () => priorityOf(requestOf(context), context),
      () => null,
      priorityOf,
      context,
    );
    // The policy itself answers for a name that it does not have.
    return andThen(found, (given = priority) => (typeof given === 'string' ? given : undefined));
  }

  /** The class that gives way first. A request of which one class is not known passes, and so does one in a class that never gives way. */
  private lowest(names: readonly (string | undefined)[]): string | undefined {
    const ranked = names.flatMap((name) => {
      const rank = name === undefined ? undefined : this.shedder.rankOf(name);
      return rank === undefined ? [] : [rank];
    });
    return names.includes(undefined) || ranked.length === 0 ? undefined : this.settings.classes[Math.min(...ranked)];
  }

  private checked(check: () => unknown): boolean {
    let answer: unknown;
    try {
      answer = check();
    } catch (error) {
      this.functions.failed('shed', CHECK_FAILED, error);
      return false;
    }
    if (typeof answer === 'boolean') return answer;
    // A promise that nobody awaits must not end the process when it rejects.
    if (isPromise(answer)) adopted(answer).catch(() => {});
    this.functions.failed('shed', CHECK_FAILED, new TypeError(`it must return true or false, got ${shown(answer)}`));
    return false;
  }

  private report({ active, threshold }: SheddingStats): void {
    if (!active) {
      this.logger.log('The process keeps up again: it sheds no requests');
      return;
    }
    this.warnings.warn(
      withHelp(
        `The process is over ${threshold} of shed: it answers a part of its ${this.settings.classes.map(shown).join(' and ')} requests with 503`,
        'FG_LOAD_SHED',
      ),
    );
  }
}

/** The policies of a handler that give its requests classes. A policy in shadow does not. */
function classified(route: Route | undefined): readonly BoundPolicy[] {
  return route?.unconditional.filter(({ shadow, priority }) => !shadow && priority !== undefined) ?? [];
}
