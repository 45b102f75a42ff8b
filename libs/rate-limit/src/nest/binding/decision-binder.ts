import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { limitableHandlers } from '../contexts/limitable-handlers.js';
import { bindInterceptor } from './bind-interceptor.js';
import type { RateLimitRuntime } from '../guard/rate-limit.runtime.js';
import { asksForDecision } from '../decisions/decision-parameters.js';
import { letAsk } from '../decisions/let-ask.js';

/**
 * Lets handlers outside of HTTP that have `@RateLimitDecision()` find their calls. It binds while Nest creates the providers,
 * because message handlers read the metadata later. Other handlers pay nothing, and routes find the decision on their request.
 */
export class DecisionBinder {
  constructor({ contexts }: RateLimitRuntime, discovery: DiscoveryService, scanner: MetadataScanner) {
    for (const { type, handler, method, adapter } of limitableHandlers(discovery, scanner, contexts)) {
      if (adapter.type === 'http' || !asksForDecision(type, method)) continue;
      const interceptor = letAsk(handler, adapter.type);
      if (interceptor !== undefined) bindInterceptor(handler, interceptor);
    }
  }
}
