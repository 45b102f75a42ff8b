import type { ExecutionContext, INestApplicationContext } from '@nestjs/common';
import type { OpenApiDocument } from 'floodgate/http';
import type { HeaderSettings } from 'floodgate/internal';
import type { AddressLists, ForwardedWatch, LimiterParts, Plans, PolicyFunctions } from 'floodgate/internal-boot';
import type { Contexts } from '../contexts/contexts.js';
import type { Operations } from '../contexts/operations.js';
import type { GuardWork } from './guard-work.js';
import type { HasGone } from './identity-chain.js';
import type { RateLimitGuard } from './rate-limit.guard.js';
import type { ShedRequests } from '../shed/shed-requests.js';
import type { CheckedOptions } from '../options/check-options.js';
import type { Route, RoutePolicies } from '../routes/route-policies.js';
import type { IdentityChain } from '../types.js';

/**
 * The limiter of an application, as the module's providers get it. This class is its token alone: the module loads and makes an
 * `AssembledRuntime` when an application boots, so that loading the package loads nothing that decides.
 */
export abstract class RateLimitRuntime {
  abstract readonly options: CheckedOptions;
  abstract readonly parts: LimiterParts;
  abstract readonly identities: IdentityChain;
  abstract readonly routes: RoutePolicies;
  abstract readonly policyFunctions: PolicyFunctions<ExecutionContext>;
  /** The plans of clients; undefined without the module's `plan`. */
  abstract readonly plans: Plans<ExecutionContext> | undefined;
  /** The policies of all HTTP traffic before it is routed; undefined without the module's `middleware`. */
  abstract readonly middleware: Route | undefined;
  /** The module's allow and block lists; undefined without them. */
  abstract readonly addressLists: AddressLists<ExecutionContext> | undefined;
  /** Rejects requests while the process is over a threshold; undefined without the module's `shed`. */
  abstract readonly shedding: ShedRequests | undefined;
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
