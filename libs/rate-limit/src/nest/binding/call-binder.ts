import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { algorithmEntry } from '../../algorithms/algorithms.js';
import { type LimitableHandler, limitableHandlers } from '../contexts/limitable-handlers.js';
import { isPolicyUse } from '../../policy/policy-uses.js';
import { isChooser } from '../routes/policy-choices.js';
import type { RateLimitRuntime } from '../guard/rate-limit.runtime.js';
import { sourcesOf } from '../routes/route-sources.js';
import type { PolicySource } from '../types.js';
import { bindInterceptor } from './bind-interceptor.js';
import { CALL_INTERCEPTOR } from './call.interceptor.js';

/**
 * Binds the interceptor for outcomes only to handlers whose policies need it: other requests pay nothing. It binds while Nest
 * creates the providers, because routes and message handlers read the metadata later.
 */
export class CallBinder {
  constructor(
    private readonly runtime: RateLimitRuntime,
    discovery: DiscoveryService,
    scanner: MetadataScanner,
  ) {
    for (const limitable of limitableHandlers(discovery, scanner, runtime.contexts)) {
      if (this.isNeededFor(limitable)) bindInterceptor(limitable.handler, CALL_INTERCEPTOR);
    }
  }

  private isNeededFor({ type, handler, adapter }: LimitableHandler): boolean {
    const { defaults, policies } = this.runtime.options;
    return sourcesOf(type, handler, defaults).sources.some(({ source }) =>
      needsInterceptor(source, adapter.type, policies),
    );
  }
}

/**
 * Whether a policy asks what its handlers return or throw, or waits for their end in a context where only an interceptor sees it. A
 * function may choose one of the module's policies.
 */
function needsInterceptor(
  source: PolicySource,
  context: string,
  policies: Readonly<Record<string, PolicySource>> = {},
): boolean {
  if (isChooser(source)) return context !== 'http' || Object.values(policies).some(isSettled);
  const name = isPolicyUse(source) ? source.policy : source;
  const policy = typeof name === 'string' ? policies[name] : name;
  if (isSettled(policy)) return true;
  // The end of an HTTP request is that of its response.
  return context !== 'http' && rowOf(policy as PolicyLike | undefined, policies).some(isLease);
}

/** A policy, and the one that its `else` leads to. */
function rowOf(
  first: PolicyLike | undefined,
  policies: Readonly<Record<string, PolicySource>>,
): readonly (PolicyLike | undefined)[] {
  const next = first?.else;
  return typeof next === 'string' ? [first, policies[next] as PolicyLike | undefined] : [first];
}

function isLease(policy: PolicyLike | undefined): boolean {
  return algorithmEntry(policy?.algorithm)?.leases === true;
}

/** A policy before it is checked. */
interface PolicyLike {
  readonly algorithm?: unknown;
  readonly else?: unknown;
  readonly countIf?: unknown;
  readonly settle?: unknown;
}

function isSettled(policy: PolicySource | undefined): boolean {
  const { countIf, settle } = (policy ?? {}) as PolicyLike;
  return countIf !== undefined || settle !== undefined;
}
