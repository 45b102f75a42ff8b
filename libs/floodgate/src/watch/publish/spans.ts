import type { DecisionEvent } from '../decision-event.js';
import type { Logger } from '../../util/logger.js';
import { attributeOf, failureOf, loadApi } from './opentelemetry.js';
import type { Publish } from './publisher.js';

/**
 * Sets attributes of the current span at each decision: `rate_limit.result`, and for the policy that decides `rate_limit.policy` and
 * `rate_limit.remaining`. Of several decisions in one span the last one stays. They never name an identity.
 *
 * @param logger is told of a span that throws
 * @throws {RateLimitConfigError} when `@opentelemetry/api` is missing
 */
export async function spans(logger: Pick<Logger, 'warn'>): Promise<Publish> {
  const { trace } = await loadApi();
  const failed = failureOf(logger);
  const observe = (event: DecisionEvent): void => {
    try {
      trace.getActiveSpan()?.setAttributes(attributesOf(event));
    } catch (error) {
      // A span of the application's SDK must not fail a request.
      failed(error);
    }
  };
  return ({ monitor }) => monitor.observe(observe);
}

function attributesOf({ decision: { allowed, policies }, source }: DecisionEvent): Record<string, string | number> {
  const result = allowed ? 'allowed' : source === 'closed' ? 'unavailable' : 'rejected';
  // What rejects, or else what will reject first.
  const [first, ...others] = allowed ? policies : policies.filter((one) => !one.allowed);
  if (first === undefined) return { [attributeOf('result')]: result };
  const { policy, remaining } = others.reduce((least, one) => (one.remaining < least.remaining ? one : least), first);
  return { [attributeOf('policy')]: policy, [attributeOf('result')]: result, [attributeOf('remaining')]: remaining };
}
