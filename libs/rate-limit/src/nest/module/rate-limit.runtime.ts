import type { ExecutionContext, INestApplicationContext } from '@nestjs/common';
import type { RateLimiter } from '../../engine/calls/rate-limiter.js';
import type { Engine } from '../../engine/engine.js';
import type { Plans } from '../../engine/functions/plans.js';
import type { UserFunctions } from '../../engine/functions/user-functions.js';
import type { RateLimitOverrides } from '../../engine/overrides/rate-limit-overrides.js';
import type { WaitingRoom } from '../../engine/requests/waiting-room.js';
import type { CallQueue } from '../../engine/scheduling/call-queue.js';
import type { Leases } from '../../engine/settling/leases.js';
import type { PendingCharges } from '../../engine/settling/pending-charges.js';
import type { HeaderSettings } from '../../http/headers.js';
import type { ForwardedWatch } from '../../http/trust-proxy.js';
import type { Monitor } from '../../metrics/monitor.js';
import type { ReportBoard } from '../../stores/report-board.js';
import type { RateLimitStore } from '../../stores/store.js';
import type { Contexts } from '../contexts/contexts.js';
import type { Operations } from '../contexts/operations.js';
import type { AddressLists } from '../guard/address-lists.js';
import type { GuardWork } from '../guard/guard-work.js';
import type { HasGone } from '../guard/identity-chain.js';
import type { RateLimitGuard } from '../guard/rate-limit.guard.js';
import type { ShedRequests } from '../guard/shed-requests.js';
import type { OpenApiDocument } from '../openapi/document-rate-limits.js';
import type { CheckedOptions } from '../options/check-options.js';
import type { PolicyFunctions } from '../routes/policy-functions.js';
import type { Route, RoutePolicies } from '../routes/route-policies.js';
import type { IdentityChain } from '../types.js';

/**
 * The limiter of an application, as the module's providers get it. This class is its token alone: the module loads and makes an
 * `AssembledRuntime` when an application boots, so that loading the package loads nothing that decides.
 */
export abstract class RateLimitRuntime {
  abstract readonly options: CheckedOptions;
  /** The store that decides. */
  abstract readonly store: RateLimitStore;
  abstract readonly engine: Engine;
  /** The engine without metrics and `onDecision`: for charges that are no decision on a request. */
  abstract readonly unobserved: Engine;
  abstract readonly monitor: Monitor;
  /** The reports of all processes; undefined if they cannot see each other's. */
  abstract readonly reportBoard: ReportBoard | undefined;
  abstract readonly limiter: RateLimiter;
  abstract readonly overrides: RateLimitOverrides;
  abstract readonly identities: IdentityChain;
  abstract readonly routes: RoutePolicies;
  abstract readonly policyFunctions: PolicyFunctions;
  /** The plans of clients; undefined without the module's `plan`. */
  abstract readonly plans: Plans<ExecutionContext> | undefined;
  /** Calls the application's functions within the deadline. */
  abstract readonly functions: UserFunctions;
  /** The policies of all HTTP traffic before it is routed; undefined without the module's `middleware`. */
  abstract readonly middleware: Route | undefined;
  /** The module's allow and block lists; undefined without them. */
  abstract readonly addressLists: AddressLists | undefined;
  /** Rejects requests while the process is over a threshold; undefined without the module's `shed`. */
  abstract readonly shedding: ShedRequests | undefined;
  abstract readonly waitingRoom: WaitingRoom;
  /** The calls of `RateLimiter.schedule` that wait. */
  abstract readonly calls: CallQueue;
  abstract readonly leases: Leases;
  abstract readonly pending: PendingCharges;
  abstract readonly contexts: Contexts;
  /** The records of operations with several handlers. */
  abstract readonly operations: Operations;
  /** The settings of the headers of decisions. */
  abstract readonly headers: HeaderSettings;
  /** Sees every limited request. */
  abstract readonly forwarded: ForwardedWatch;
  /** Whether a request has no address because its client has gone. */
  abstract readonly hasGone: HasGone;
  /** What a guard does between its steps. */
  abstract guardWork(guard: RateLimitGuard): GuardWork;
  /** Adds the answers of the limiter to an OpenAPI document. */
  abstract document(document: OpenApiDocument, app: INestApplicationContext): void;
  /** Warns once of a kind of contexts without an adapter, where a policy looks as if it limited a handler. */
  abstract warnOfContext(context: ExecutionContext): void;
}
