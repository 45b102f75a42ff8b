import type { CallOptions } from '../charges/call-options.js';
import type { LimiterPolicy } from '../engine/calls/call-policies.js';
import type { Identity } from '../identity/identity.js';
import type { RateLimiter } from '../limiter/rate-limiter.js';
import type { Decision } from '../policy/decision.js';
import type { ExpiryOptions } from '../policy/expiry.js';
import { DEFAULT_NAME } from '../policy/parse-policy.js';
import { RateLimitConfigError, shown } from '../util/config-error.js';
import { unawaited } from '../util/unawaited.js';
import { Estimates, type ModelRequest } from './estimate.js';
import { isRefusal, usedNothing } from './failures.js';
import { isResponse, observed } from './observed.js';

/** The policies of the calls of a model: one, or several that charge all or nothing. */
export interface ModelPolicies {
  /** Count calls. Default none. */
  readonly requests?: LimiterPolicy | readonly LimiterPolicy[] | undefined;
  /** Count tokens: those of the prompt and those that are produced. */
  readonly tokens: LimiterPolicy | readonly LimiterPolicy[];
}

/** What became of a call of a model. */
export type ModelCall<Answer> =
  | { readonly allowed: true; readonly decision: Decision; readonly answer: Answer }
  /** The model was not called, and nothing was charged. */
  | { readonly allowed: false; readonly decision: Decision };

/** Options of one call: those of `RateLimiter.reserve` but its cost, which is the estimate. */
export type ModelCallOptions = Omit<CallOptions, 'cost'> & ExpiryOptions;

/**
 * Calls a model under its limits.
 *
 * @param identity as in `RateLimiter.reserve`
 * @param request what the model is asked, in the shape of its provider: the estimate reads its texts, `model`, `n` and `max_tokens`
 * @param send calls the model. It gets no argument, and its answer may be a `Response`, a stream, an iterable of events, or parsed
 * @returns with `answer`, for the caller to read: the call is settled when the answer has ended
 * @throws what `send` throws, once it is settled, and the errors of `RateLimiter.reserve`
 */
export type LimitedModel = <Answer>(
  identity: Identity | null,
  request: ModelRequest,
  send: () => Answer | Promise<Answer>,
  options?: ModelCallOptions,
) => Promise<ModelCall<Answer>>;

/**
 * Limits the calls of language models by requests and tokens in one atomic step. Each call reserves an estimate: the length of its
 * prompt, and as many tokens as the model's longest answer of the last 10 minutes in this process had, at most `max_tokens`. It is settled at
 * what the answer says: `usage` of OpenAI-compatible chats, completions, responses and embeddings, and of Anthropic-style messages, as JSON or
 * as server-sent events. A stream that ends early pays for its prompt, and for what was produced until then; one without `usage` for the
 * length of its texts. A call that the provider refuses, or that does not reach it, pays for no token; one that fails in another way, such as by
 * an abort, for the prompt of a stream, and else for the estimate.
 *
 * @param policies or a function of the request that returns them, such as budgets by model
 * @throws {RateLimitConfigError} for policies that are neither
 * @example
 * ```ts
 * const chat = limitModel(limiter, { requests: 'requests', tokens: ['tokens', 'day'] });
 * const call = await chat({ kind: 'user', value: 'ada' }, body, () => fetch(url, { method: 'POST', body: JSON.stringify(body) }));
 * if (!call.allowed) throw new TooManyTokens(call.decision.retryAfterMs);
 * ```
 */
export function limitModel(
  limiter: Pick<RateLimiter, 'reserve'>,
  policies: ModelPolicies | ((request: ModelRequest) => ModelPolicies),
): LimitedModel {
  const fixed = typeof policies === 'function' ? undefined : chargedTo(policies);
  const estimates = new Estimates();
  return async (identity, request, send, options) => {
    const { all, costs } = fixed ?? chargedTo((policies as (request: ModelRequest) => ModelPolicies)(request));
    const estimate = estimates.of(request);
    const reservation = await limiter.reserve(all, identity, { ...options, cost: costs(estimate.all) });
    const { allowed, decision } = reservation;
    if (!allowed) return { allowed, decision };
    const settle = (cost: number): Promise<unknown> => reservation.settle(costs(cost));
    // A stream that does not begin has had its prompt read. Any other call may have produced its whole answer.
    const unseen = (request as { readonly stream?: unknown }).stream === true ? estimate.input : estimate.all;
    let answer;
    try {
      answer = await send();
    } catch (error) {
      await settle(usedNothing(error) ? 0 : unseen);
      throw error;
    }
    if (isResponse(answer) && !answer.ok) {
      await settle(isRefusal(answer.status) ? 0 : unseen);
      return { allowed, decision, answer };
    }
    const watched = observed(answer, (usage, hasEnded) => {
      const { produced } = usage;
      if (hasEnded && produced !== undefined) estimates.saw(request, produced, usage.hidden);
      unawaited(settle(usage.total(estimate, hasEnded)));
    });
    return { allowed, decision, answer: watched };
  };
}

/** What a call is charged to, made once: the engine knows policies by their array. */
interface ChargedTo {
  readonly all: readonly LimiterPolicy[];
  /** A cost for each policy of tokens. */
  readonly costs: (cost: number) => Record<string, number>;
}

/** @throws {RateLimitConfigError} for what are no policies */
function chargedTo(policies: ModelPolicies): ChargedTo {
  const { requests = [], tokens = [] } = Object(policies) as Partial<ModelPolicies>;
  const counted = [tokens].flat();
  if (counted.length === 0) {
    throw new RateLimitConfigError(
      'limitModel',
      `takes { requests, tokens }, each a policy or several, got ${shown(policies)}`,
    );
  }
  const names = counted.map(nameOf);
  const costs = (cost: number): Record<string, number> => {
    const all: Record<string, number> = Object.create(null);
    for (const name of names) all[name] = Math.min(cost, Number.MAX_SAFE_INTEGER);
    return all;
  };
  return { all: [requests, counted].flat(), costs };
}

function nameOf(policy: LimiterPolicy): string {
  return typeof policy === 'string' ? policy : (policy.name ?? DEFAULT_NAME);
}
