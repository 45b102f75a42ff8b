import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { TrustsHop } from '../http/client-address.js';
import { closablesOf } from '../http/closables.js';

import { ResolvedIdentities } from '../identity/resolved-identities.js';
import { Admission, type Transport } from '../limiter/admission.js';
import type { PolicyCharge } from '../limiter/policy-charge.js';
import { RequestRecord } from '../limiter/request-record.js';
import type { Closable } from '../limiter/waiting-room.js';
import type { BoundPolicy } from './types.js';
import type { Decision } from '../policy/decision.js';
import { allInOrder } from '../util/all-in-order.js';
import { RateLimitConfigError } from '../util/config-error.js';
import { isPromise } from '../util/is-promise.js';
import {
  isRateLimitException,
  RateLimitAddressBlockedException,
  RateLimitExceededException,
  RateLimitUnavailableException,
  toHttpException,
} from './exceptions.js';
import { setDecisionHeaders, setRetryAfter } from './http-answer.js';
import type { ContextAdapter } from './contexts/context-adapter.js';
import { ContextView } from './contexts/context-view.js';
import { trustsHopOf } from './platform.js';
import { isHttp, requestOf, responseOf } from './http-context.js';
import { onOutcome } from './outcomes/outcomes.js';
import { RateLimitRuntime } from './rate-limit.runtime.js';
import type { Listed } from './address-lists.js';
import { RequestCharges } from './request-charges.js';
import type { Route } from './route-policies.js';

/**
 * Limits the handlers that `@RateLimit` on a method or a class, or the module's `defaults`, name: routes, GraphQL resolvers,
 * message handlers and those of the module's `contexts`. `RateLimitModule` registers it for all of them, unless `guard: false`:
 * then bind it, or a subclass of it, yourself. A subclass that the application binds globally also answers for the module's
 * `middleware`.
 *
 * In every context `context.switchToHttp().getRequest()` is what stands for the request, for the guard's steps and for the
 * functions of policies.
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
  // Injected as properties, so that a subclass has a constructor of its own.
  @Inject(RateLimitRuntime) private readonly runtime: RateLimitRuntime;
  @Inject(HttpAdapterHost) protected readonly adapterHost!: HttpAdapterHost;
  private trustsHop: TrustsHop | undefined;
  private admission: Admission<ExecutionContext> | undefined;
  private ownChargeMaker: RequestCharges | undefined;

  /**
   * @throws {RateLimitExceededException} 429, when a policy rejects the request
   * @throws {RateLimitAddressBlockedException} 403, when the module's `blockList` has the client's address
   * @throws {RateLimitIdentityMissingException} 401, when the request has no identity and `onMissingIdentity` is `'refuse'`
   * @throws {RateLimitUnavailableException} 503, when the store fails and `onStoreFailure` is `'closed'`, when too many
   *   requests wait (nothing is charged then), or while the application shuts down
   */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (this.runtime === undefined) throw notInjected(this);
    if (!isHttp(context)) return this.limitElsewhere(context);
    const route = this.runtime.routes.of(context.getClass(), context.getHandler());
    if (route === undefined && this.runtime.addressLists === undefined) return true;
    if (!RequestRecord.firstGuard(requestOf(context))) return true;
    return this.limitUnlessListed(route, context);
  }

  /** Requests for which it is true are not counted by any policy. */
  protected shouldSkip(_context: ExecutionContext): boolean | Promise<boolean> {
    return false;
  }

  /**
   * The identity that the policy counts: what stands between the braces of its key. `identityTag` of a `{ kind, value }` makes
   * one.
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
    const response = responseOf(context);
    const { httpAdapter } = this.adapterHost;
    // Other contexts may have no response, or one that is sent while their operation still runs.
    if (!isHttp(context) && (response === undefined || httpAdapter.isHeadersSent(response) === true)) return;
    setDecisionHeaders(httpAdapter, response, decision, this.runtime.options);
  }

  /** Answers a rejected request, by throwing. */
  protected refuse(_context: ExecutionContext, decision: Decision): never | Promise<never> {
    throw new RateLimitExceededException(decision);
  }

  /**
   * @internal Limits a request whose address is in neither list of the module.
   *
   * @param route undefined for a handler that no policy limits
   */
  limitUnlessListed(route: Route | undefined, context: ExecutionContext): boolean | Promise<boolean> {
    if (this.runtime === undefined) throw notInjected(this);
    const { addressLists } = this.runtime;
    if (addressLists === undefined) return route === undefined || this.limitUnlessSkipped(route, context);
    const record = this.recordOf(context);
    const listed = record?.listed ?? addressLists.of(context);
    return typeof listed === 'string'
      ? this.limitListed(listed, record, route, context)
      : listed.then((known) => this.limitListed(known, record, route, context));
  }

  private limitListed(
    listed: Listed,
    record: RequestRecord | undefined,
    route: Route | undefined,
    context: ExecutionContext,
  ): boolean | Promise<boolean> {
    if (record !== undefined) record.listed = listed;
    if (listed === 'block') return this.fail(context, new RateLimitAddressBlockedException());
    return listed === 'allow' || route === undefined || this.limitUnlessSkipped(route, context);
  }

  /**
   * @internal Limits a request by the policies of its route, or by those of the middleware. What needs no waiting is not
   * awaited: every request would pay for the promise.
   */
  limitUnlessSkipped(route: Route, context: ExecutionContext): boolean | Promise<boolean> {
    if (this.runtime === undefined) throw notInjected(this);
    const skipped = this.shouldSkip(context);
    if (typeof skipped === 'boolean') return skipped || this.limit(route, context);
    return Promise.resolve(skipped).then((skip) => skip || this.limit(route, context));
  }

  /** Limits a handler of another context than HTTP. */
  private async limitElsewhere(context: ExecutionContext): Promise<boolean> {
    const { contexts, operations, routes } = this.runtime;
    const adapter = contexts.of(context.getType());
    if (adapter === undefined) {
      this.runtime.warnOfContext(context);
      return true;
    }
    await adapter.opened?.(context);
    const route = routes.of(context.getClass(), context.getHandler());
    // One array of arguments belongs to one call, and all of its guards.
    if (route === undefined && this.runtime.addressLists === undefined) return true;
    if (!RequestRecord.firstGuard(context.getArgs())) return true;
    await contexts.prepare(adapter);
    const record = operations.of(adapter.operation?.(context), adapter.execution?.(context));
    return this.limitUnlessListed(route, this.view(context, adapter, record));
  }

  private view(context: ExecutionContext, adapter: ContextAdapter, record: RequestRecord | undefined): ContextView {
    return new ContextView(context, adapter, record, () => (this.trustsHop ??= trustsHopOf(this.adapterHost)));
  }

  private limit(route: Route, context: ExecutionContext): boolean | Promise<boolean> {
    const request = requestOf(context);
    this.runtime.forwarded.see(request);
    const { fixed } = route;
    if (fixed === undefined) return this.limitChosen(route, context).catch((error) => this.fail(context, error));
    const resolved = fixed.length > 1 ? new ResolvedIdentities() : undefined;
    let charges: PolicyCharge[] | undefined;
    try {
      for (let i = 0; i < fixed.length; i++) {
        const policy = fixed[i]!;
        const charge = this.chargeMaker.fixed(policy, context, resolved);
        if (isPromise(charge)) {
          const later = this.limitLater(fixed.slice(i + 1), context, charges ?? [], charge, resolved);
          return later.catch((error) => this.fail(context, error));
        }
        if (charge === undefined) continue;
        // A literal with one element takes less than an empty array that grows.
        if (charges === undefined) charges = [charge];
        else charges.push(charge);
      }
    } catch (error) {
      return this.fail(context, error);
    }
    return charges === undefined || this.admit(context, charges);
  }

  private async limitChosen(route: Route, context: ExecutionContext): Promise<boolean> {
    const policies = await this.runtime.policyFunctions.policiesOf(route, context);
    if (policies.length === 0) return true;
    const resolved = policies.length > 1 ? new ResolvedIdentities() : undefined;
    const charges = await allInOrder(policies.map((policy) => this.chargeMaker.later(policy, context, resolved)));
    return this.admitMade(context, charges);
  }

  /** Admits a request by the charges that its shadows have not left out. */
  private admitMade(
    context: ExecutionContext,
    made: readonly (PolicyCharge | undefined)[],
  ): boolean | Promise<boolean> {
    const charges = made.filter((charge) => charge !== undefined);
    return charges.length === 0 || this.admit(context, charges);
  }

  /**
   * Makes the charges of which at least one has to be waited for, side by side.
   *
   * @param policies those after it
   * @param made the charges before it
   */
  private async limitLater(
    policies: readonly BoundPolicy[],
    context: ExecutionContext,
    made: readonly PolicyCharge[],
    pending: Promise<PolicyCharge | undefined>,
    resolved: ResolvedIdentities | undefined,
  ): Promise<boolean> {
    const rest = policies.map((policy) => this.chargeMaker.later(policy, context, resolved));
    return this.admitMade(context, [...made, ...(await allInOrder([pending, ...rest]))]);
  }

  private get chargeMaker(): RequestCharges {
    return (this.ownChargeMaker ??= new RequestCharges(this.runtime, (policy, context, resolved) =>
      this.identityTag(policy, context, resolved),
    ));
  }

  private admit(context: ExecutionContext, charges: readonly PolicyCharge[]): boolean | Promise<boolean> {
    this.admission ??= new Admission(
      this.runtime.engine,
      this.runtime.waitingRoom,
      this.transport(),
      this.runtime.leases,
      this.runtime.settlements,
    );
    return this.admission.admit(context, charges, this.recordOf(context));
  }

  private recordOf(context: ExecutionContext): RequestRecord | undefined {
    if (context instanceof ContextView) return context.record;
    return this.runtime.middleware === undefined ? undefined : RequestRecord.of(requestOf(context));
  }

  private transport(): Transport<ExecutionContext> {
    return {
      decided: (context, decision) => this.setHeaders(context, decision),
      reject: (context, decision) => this.reject(context, decision),
      failed: (context, error) => this.fail(context, error),
      outcome: onOutcome,
      closables: (context): readonly Closable[] =>
        context instanceof ContextView ? context.closables : closablesOf(requestOf(context), responseOf(context)),
    };
  }

  /** Rejects a request whose headers are set, or left out by a subclass. */
  private reject(context: ExecutionContext, decision: Decision): never | Promise<never> {
    const answered = (error: unknown): never => {
      RateLimitExceededException.markAnswered(error);
      throw inWordsOf(context, error);
    };
    try {
      const refused = this.refuse(context, decision);
      return isPromise(refused) ? refused.catch(answered) : refused;
    } catch (error) {
      return answered(error);
    }
  }

  /** A 503 says when to retry, as a 429 does. */
  private fail(context: ExecutionContext, error: unknown): never {
    const exception = toHttpException(error);
    const { httpAdapter } = this.adapterHost;
    const response = responseOf(context);
    if (
      exception instanceof RateLimitUnavailableException &&
      response !== undefined &&
      httpAdapter.isHeadersSent(response) !== true
    ) {
      setRetryAfter(httpAdapter, response, exception.retryAfter);
    }
    throw inWordsOf(context, exception);
  }
}

/** A rejection as the context's clients understand it. Errors of the application stay as they are. */
function inWordsOf(context: ExecutionContext, error: unknown): unknown {
  return context instanceof ContextView && isRateLimitException(error) ? context.toError(error) : error;
}

function notInjected({ constructor }: object): RateLimitConfigError {
  return new RateLimitConfigError(
    constructor.name,
    'was made with new, so that Nest injected nothing: provide the class, and bind it with APP_GUARD, @UseGuards or app.get()',
    'FG_MODULE_IMPORT',
  );
}
