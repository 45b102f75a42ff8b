import { type ExecutionContext, InternalServerErrorException } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import { type Decision, RateLimitConfigError, WaitingRoomFullError } from 'floodgate';
import type { ResolvedIdentities } from 'floodgate/http';
import {
  type Answer,
  ClientGoneError,
  type Exchange,
  type FindTag,
  type Listed,
  type PolicyCharge,
  shapeOf,
  type Transport,
  type TrustsHop,
} from 'floodgate/internal';
import {
  Admission,
  andThen,
  attempt,
  isComplete,
  isPromise,
  readable,
  RequestCharges,
  RequestRecord,
  ResponseExchange,
} from 'floodgate/internal-boot';
import type { BoundPolicy } from '../types.js';
import {
  isRateLimitException,
  RateLimitAddressBlockedException,
  RateLimitExceededException,
  RateLimitUnavailableException,
  toHttpException,
} from '../exceptions/exceptions.js';
import { setDecisionHeaders, setRetryAfter } from './http-answer.js';
import type { ContextAdapter } from '../contexts/context-adapter.js';
import { ContextView } from '../contexts/context-view.js';
import { trustsHopOf } from '../contexts/platform.js';
import { rememberView } from '../decisions/viewed-calls.js';
import { isHttp, requestOf, responseOf } from '../contexts/http-context.js';
import { Call } from '../exchanges/call.js';
import { RateLimitLogger } from '../handlers/logger.js';
import type { RateLimitRuntime } from './rate-limit.runtime.js';
import { GuardSteps } from './guard-steps.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import type { Route } from '../routes/route-policies.js';

/** The steps of a guard. A subclass may override them. */
interface Seams {
  shouldSkip(context: ExecutionContext): boolean | Promise<boolean>;
  identityTag(policy: BoundPolicy, context: ExecutionContext, resolved?: ResolvedIdentities): string | Promise<string>;
  setHeaders(context: ExecutionContext, decision: Decision): void;
  refuse(context: ExecutionContext, decision: Decision): never | Promise<never>;
}

/** The steps of the library's own guard. */
const LIBRARY = RateLimitGuard.prototype as unknown as Seams;

/** What a `RateLimitGuard` does between its steps: it finds the route, makes the charges, asks the engine, and answers. */
export class GuardWork {
  private readonly seams: Seams;
  /** The steps that a subclass overrides. The library's own are not called where they would only pass a call on. */
  private readonly skips: boolean;
  private readonly showsItself: boolean;
  private readonly hasGates: boolean;
  private readonly steps: GuardSteps;
  private readonly charges: RequestCharges<ExecutionContext>;
  private readonly admission: Admission<ExecutionContext>;
  private trustsHop: TrustsHop | undefined;
  /** The number of calls that wait for each promise. */
  private readonly arriving = new WeakMap<object, number>();

  constructor(
    private readonly runtime: RateLimitRuntime,
    private readonly guard: RateLimitGuard,
    private readonly adapterHost: HttpAdapterHost,
  ) {
    const seams = (this.seams = guard as unknown as Seams); // its steps are protected
    this.skips = seams.shouldSkip !== LIBRARY.shouldSkip;
    this.showsItself = seams.setHeaders !== LIBRARY.setHeaders;
    this.hasGates = this.skips || runtime.addressLists !== undefined || runtime.shedding !== undefined;
    this.steps = new GuardSteps(runtime);
    const { parts, policyFunctions, plans } = runtime;
    this.charges = new RequestCharges(parts.functions, policyFunctions, plans, this.tagOf());
    const { engine, waitingRoom, pending, monitor } = parts;
    this.admission = new Admission(engine, waitingRoom, this.transport(), pending, monitor);
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (!isHttp(context)) return this.limitElsewhere(context);
    const route = this.runtime.routes.of(context.getClass(), context.getHandler());
    // A handler without policies cannot be counted twice, and the record keeps the answer of the lists.
    if (route !== undefined && !RequestRecord.of(requestOf(context)).isFirstGuard(route)) return true;
    return this.pass(route, context);
  }

  /** The step of the library's own guard. */
  setHeaders(context: ExecutionContext, decision: Decision): void {
    const response = responseOf(context);
    const { httpAdapter } = this.adapterHost;
    // Other contexts may have no response, or one that is sent while their operation still runs.
    if (!isHttp(context) && (response === undefined || httpAdapter.isHeadersSent(response) === true)) return;
    setDecisionHeaders(httpAdapter, response, decision, this.runtime.headers);
  }

  /**
   * Passes a request through the gates, which answer before anything is charged: the module's address lists, `shouldSkip`, and
   * shedding. Then limits it by the policies of its route, or by those of the middleware. Synchronous steps are not awaited: every
   * request would pay for the promise.
   *
   * @param route undefined for a handler that no policy limits
   */
  pass(route: Route | undefined, context: ExecutionContext): Answer<boolean> {
    if (!this.hasGates) return route === undefined || this.limit(route, context);
    const { addressLists } = this.runtime;
    if (addressLists === undefined) return this.passUnlisted(route, context);
    const record = this.recordOf(context);
    return attempt(
      (): Answer<Listed> => record.listed ?? addressLists.of(context),
      (listed) => {
        record.listed = listed;
        if (listed === 'block') return this.fail(context, new RateLimitAddressBlockedException());
        return listed === 'allow' || this.passUnlisted(route, context);
      },
      (error) => this.fail(context, error),
    );
  }

  private passUnlisted(route: Route | undefined, context: ExecutionContext): Answer<boolean> {
    // A handler that nothing limits has nothing to skip.
    if (!this.skips || (route === undefined && this.runtime.shedding?.active !== true))
      return this.shed(route, context);
    let skipped: Answer<boolean>;
    try {
      skipped = this.seams.shouldSkip(context);
    } catch (error) {
      throw readable(error);
    }
    if (typeof skipped !== 'boolean') skipped = this.steps.skips(this.guard, skipped);
    return andThen(skipped, (skip) => skip || this.shed(route, context));
  }

  /** Rejects a request of low priority while the process is over a threshold, or limits it. */
  private shed(route: Route | undefined, context: ExecutionContext): Answer<boolean> {
    const { shedding } = this.runtime;
    if (shedding?.active !== true) return route === undefined || this.limit(route, context);
    return attempt(
      () => shedding.rejection(route, context, this.recordOf(context)),
      (rejection) => {
        if (rejection !== undefined) return this.fail(context, rejection);
        return route === undefined || this.limit(route, context);
      },
      (error) => this.fail(context, error),
    );
  }

  /** Limits a handler of another context than HTTP. */
  private async limitElsewhere(context: ExecutionContext): Promise<boolean> {
    const { contexts, operations, routes } = this.runtime;
    const adapter = contexts.of(context.getType());
    if (adapter === undefined) {
      this.runtime.warnOfContext(context);
      return true;
    }
    const opened = adapter.opened?.(context);
    if (opened !== undefined && isPromise(opened)) await this.waitUntil(opened, context, adapter);
    const route = routes.of(context.getClass(), context.getHandler());
    // One array of arguments belongs to one call, and all of its guards.
    const { addressLists, shedding } = this.runtime;
    if (route === undefined && addressLists === undefined && shedding?.active !== true) return true;
    const call = RequestRecord.of(context.getArgs());
    if (!call.isFirstGuard(route ?? context.getHandler())) return true;
    await contexts.prepare(adapter);
    const record = operations.of(adapter.operation?.(context), adapter.execution?.(context)) ?? call;
    const view = this.view(context, adapter, record);
    rememberView(context, view);
    return this.pass(route, view);
  }

  /**
   * Waits for what comes before a call, such as the decision on its connection. `maxWaitingPerClient` bounds the calls that
   * wait for one promise: a connection that waits for its slot may bring any number of messages.
   */
  private async waitUntil(opened: Promise<unknown>, context: ExecutionContext, adapter: ContextAdapter): Promise<void> {
    const waiting = this.arriving.get(opened) ?? 0;
    if (waiting >= this.runtime.options.maxWaitingPerClient) {
      await this.runtime.contexts.prepare(adapter);
      this.fail(this.view(context, adapter, new RequestRecord()), new WaitingRoomFullError());
    }
    this.arriving.set(opened, waiting + 1);
    try {
      await opened;
    } finally {
      this.arriving.set(opened, this.arriving.get(opened)! - 1);
    }
  }

  private view(context: ExecutionContext, adapter: ContextAdapter, record: RequestRecord): ContextView {
    return new ContextView(context, adapter, record, () => (this.trustsHop ??= trustsHopOf(this.adapterHost)));
  }

  private limit(route: Route, context: ExecutionContext, policies = route.fixed): Answer<boolean> {
    const { forwarded } = this.runtime;
    if (policies === undefined) {
      return this.policiesOf(route, context).then(
        (found) => this.limit(route, context, found),
        (error: unknown) => this.fail(context, error),
      );
    }
    if (forwarded.isWatching) forwarded.see(requestOf(context));
    let charges: Answer<readonly PolicyCharge[]>;
    // `attempt` is not used here: every request would pay for its closures.
    try {
      charges = this.charges.makeAll(policies, context);
    } catch (error) {
      return this.fail(context, error);
    }
    if (!(charges instanceof Promise)) return this.admit(route, context, charges);
    return charges.then(
      (made) => this.admit(route, context, made),
      (error: unknown) => this.fail(context, error),
    );
  }

  private async policiesOf(route: Route, context: ExecutionContext): Promise<readonly BoundPolicy[]> {
    return this.runtime.policyFunctions.counting(await route.policies(context), context);
  }

  private admit(route: Route, context: ExecutionContext, charges: readonly PolicyCharge[]): Answer<boolean> {
    if (charges.length === 0) return true;
    const record = context instanceof ContextView ? context.asks(charges) : RequestRecord.of(requestOf(context));
    return this.admission.admit({ route, context, charges, record, shared: undefined });
  }

  /** The guard's own step, or the chain of identities. */
  private tagOf(): FindTag<ExecutionContext> {
    if (this.seams.identityTag === LIBRARY.identityTag) return (...asked) => this.runtime.identities.tag(...asked);
    return (policy, context, resolved) => {
      const tag = this.seams.identityTag(policy, context, resolved);
      if (typeof tag !== 'object') return textOf(tag);
      return this.steps.tag(this.guard, tag, policy, context, resolved).then(textOf);
    };
  }

  private recordOf(context: ExecutionContext): RequestRecord {
    return context instanceof ContextView ? context.record : RequestRecord.of(requestOf(context));
  }

  private transport(): Transport<ExecutionContext> {
    return {
      decided: (context, decision) => {
        const { httpAdapter } = this.adapterHost;
        if (isHttp(context) && httpAdapter.isHeadersSent(responseOf(context)) === true) return this.answered(context);
        if (!this.showsItself) return this.setHeaders(context, decision);
        try {
          this.steps.watch(this.guard, this.seams.setHeaders(context, decision));
        } catch (error) {
          throw readable(error);
        }
      },
      reject: (context, decision) => this.reject(context, decision),
      failed: (context, error) => this.fail(context, error),
      exchange: (context) => (context instanceof ContextView ? context.exchange : exchangeOf(context)),
    };
  }

  /** Sets no headers on an answer that was sent meanwhile, by a timeout for example. A complete answer ends the request here. */
  private answered(context: ExecutionContext): void {
    if (isComplete(responseOf(context))) this.fail(context, ClientGoneError.instance);
  }

  /** Rejects a request whose headers are set, or left out by a subclass. */
  private reject(context: ExecutionContext, decision: Decision): never | Promise<never> {
    const answered = (error: unknown): never => {
      RateLimitExceededException.markAnswered(error);
      throw inWordsOf(context, error);
    };
    const refused = (): never => answered(new RateLimitExceededException(decision));
    let answer: unknown;
    try {
      answer = this.seams.refuse(context, decision);
    } catch (error) {
      return answered(readable(error));
    }
    // A method that throws nothing must not let the request pass.
    return isPromise(answer) ? this.steps.refusal(this.guard, answer).then(refused, answered) : refused();
  }

  /** A 503 says when to retry, as a 429 does. */
  private fail(context: ExecutionContext, error: unknown): never {
    const exception = toHttpException(readable(error));
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

/** @throws {TypeError} for a tag that a subclass of the guard has made, and that is no text */
function textOf(tag: string): string {
  if (typeof tag === 'string' && tag !== '') return tag;
  throw new TypeError(`an identity's tag must be text, got ${shapeOf(tag)}`);
}

/** The exchange of an HTTP request. */
function exchangeOf(context: ExecutionContext): Exchange {
  const call = Call.for(context);
  return new ResponseExchange(requestOf(context), responseOf(context), call, call);
}

/** Converts a rejection to the error that the context's clients get. Errors of the application stay as they are. */
function inWordsOf(context: ExecutionContext, error: unknown): unknown {
  if (error instanceof RateLimitConfigError && context.getType<string>() === 'graphql') {
    // GraphQL servers show the message of any error to clients. Other contexts answer with a text of Nest's, and log it.
    new RateLimitLogger().error(error);
    return new InternalServerErrorException('Internal server error', { cause: error });
  }
  return context instanceof ContextView && isRateLimitException(error) ? context.toError(error) : error;
}
