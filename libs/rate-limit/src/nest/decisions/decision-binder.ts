import { Inject, Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { limitableHandlers } from '../boot/boot-checks.js';
import { bindInterceptor } from '../exchanges/bind-interceptor.js';
import { RateLimitRuntime } from '../module/rate-limit.runtime.js';
import { asksForDecision } from './rate-limit-decision.decorator.js';
import { letAsk } from './viewed-calls.js';

/**
 * Lets handlers outside of HTTP that have `@RateLimitDecision()` find their calls. It binds while Nest creates the providers,
 * because message handlers read the metadata later. Other handlers pay nothing, and routes find the decision on their request.
 */
@Injectable()
export class DecisionBinder {
  constructor(
    @Inject(RateLimitRuntime) { contexts }: RateLimitRuntime,
    @Inject(DiscoveryService) discovery: DiscoveryService,
    @Inject(MetadataScanner) scanner: MetadataScanner,
  ) {
    for (const { type, handler, method, adapter } of limitableHandlers(discovery, scanner, contexts)) {
      if (adapter.type === 'http' || !asksForDecision(type, method)) continue;
      const interceptor = letAsk(handler, adapter.type);
      if (interceptor !== undefined) bindInterceptor(handler, interceptor);
    }
  }
}
