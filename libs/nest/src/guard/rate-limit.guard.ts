import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type Decision, RateLimitConfigError } from 'floodgate';
import type { ResolvedIdentities } from 'floodgate/http';
import { isInstanceOf, prototypeOf } from 'floodgate/internal';
import { RateLimitRuntime } from './rate-limit.runtime.js';
import type { BoundPolicy } from '../types.js';
import { RateLimitExceededException } from '../exceptions/exceptions.js';
import type { GuardWork } from './guard-work.js';

/** Leads from a guard to what it does between its steps. No member of a subclass can have this name. */
export const GUARD_WORK = Symbol('work of the guard');

/**
 * Limits the handlers that `@RateLimit` on a method or a class, or the module's `defaults`, name: routes, GraphQL resolvers,
 * message handlers and those of the module's `contexts`. `RateLimitModule` registers it for all of them, unless `guard: false`:
 * then bind it, or a subclass of it, yourself. A subclass that the application binds globally also answers for the module's
 * `middleware`.
 *
 * The guard's steps find the request in every context with `context.switchToHttp().getRequest()`. Functions of policies get
 * `(request, context)`.
 *
 * Made to be extended: `shouldSkip`, `identityTag`, `setHeaders` and `refuse` are its steps.
 *
 * @example
 * ```ts
 * \@Injectable()
 * class InternalsPass extends RateLimitGuard {
 *   protected override shouldSkip(context: ExecutionContext) {
 *     return isInternal(context.switchToHttp().getRequest());
 *   }
 * }
 * ```
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  // Nest injects properties, so that a subclass has a constructor of its own.
  @Inject(RateLimitRuntime) private readonly runtime: RateLimitRuntime;
  @Inject(HttpAdapterHost) protected readonly adapterHost!: HttpAdapterHost;
  private ownWork: GuardWork | undefined;

  /**
   * @throws {RateLimitExceededException} 429, when a policy rejects the request
   * @throws {RateLimitAddressBlockedException} 403, when the module's `blockList` has the client's address
   * @throws {RateLimitIdentityMissingException} 401, when the request has no identity and `onMissingIdentity` is `'reject'`
   * @throws {RateLimitShedException} 503, when the process is over a threshold of the module's `shed`
   * @throws {RateLimitUnavailableException} 503, when the store fails and `onStoreFailure` is `'closed'`, when too many
   *   requests wait (nothing is charged then), or while the application shuts down
   */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return this[GUARD_WORK].canActivate(context);
  }

  /** Returns true for requests that no policy counts, and that are not shed. */
  protected shouldSkip(_context: ExecutionContext): boolean | Promise<boolean> {
    return false;
  }

  /**
   * Returns the tag of the identity that the policy counts, as keys contain it between braces. The function `identityTag` makes
   * a tag from `{ kind, value }`.
   *
   * @param resolved the identities that other policies of the request have found. Pass it to `super`: without it, resolvers are
   *   asked again.
   */
  protected identityTag(
    policy: BoundPolicy,
    context: ExecutionContext,
    resolved?: ResolvedIdentities,
  ): string | Promise<string> {
    return this.runtime.identities.tag(policy, context, resolved);
  }

  /** Sets the headers of an allowed or rejected request. The policies of the module's `middleware` come first in the decision. */
  protected setHeaders(context: ExecutionContext, decision: Decision): void {
    this[GUARD_WORK].setHeaders(context, decision);
  }

  /** Answers a rejected request, by throwing. */
  protected refuse(_context: ExecutionContext, decision: Decision): never | Promise<never> {
    throw new RateLimitExceededException(decision);
  }

  /** @internal */
  get [GUARD_WORK](): GuardWork {
    if (this.ownWork !== undefined) return this.ownWork;
    if (this.runtime === undefined) throw notInjected(this);
    return (this.ownWork = this.runtime.guardWork(this));
  }
}

/** Whether it is the library's guard, or one of a subclass. */
export function isGuard(guard: unknown): guard is RateLimitGuard {
  return isInstanceOf(guard, RateLimitGuard);
}

/** Whether a guard, as an instance or a class, is the library's or a subclass of it. */
export function isGuardClass(guard: unknown): boolean {
  return guard === RateLimitGuard || isGuard(guard) || isSubclass(guard);
}

/** Whether a class extends the library's guard. */
export function isSubclass(type: unknown): boolean {
  return typeof type === 'function' && isInstanceOf(prototypeOf(type), RateLimitGuard);
}

function notInjected({ constructor }: object): RateLimitConfigError {
  return new RateLimitConfigError(
    constructor.name,
    'was made with new, so that Nest injected nothing: provide the class, and bind it with APP_GUARD, @UseGuards or app.get()',
    'FG_MODULE_IMPORT',
  );
}
