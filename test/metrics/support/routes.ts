import { Get, type Type } from '@nestjs/common';
import {
  type Policy,
  RateLimit,
  RateLimitMetricsModule,
  type RateLimitMetricsOptions,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, start } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

export const THREE = { name: 'three', algorithm: 'token-bucket', capacity: 3, refill: '1/h' } as const satisfies Policy;
const TWO: Policy = { name: 'two', algorithm: 'fixed-window', limit: 2, window: '300d', by: 'global' };
export const ADA = { kind: 'user', value: 'ada' };

/** Routes of one policy and of two. */
export class Limited {
  @Get('three')
  @RateLimit(THREE)
  three(): void {}

  @Get('both')
  @RateLimit(THREE, TWO)
  both(): void {}
}

/** An application of these routes with the policy `three`, which publishes its metrics once for each of the options. */
export function measuredApp(
  controller: Type,
  limits: RateLimitModuleOptions | undefined,
  ...metrics: readonly (RateLimitMetricsOptions | undefined)[]
): Promise<HttpApp> {
  return start('Express', {
    imports: [
      RateLimitModule.forRoot({
        identity: FROM_HEADERS,
        store: new StillStore(),
        policies: { three: THREE },
        ...limits,
      }),
      ...metrics.map((options) => ({ module: class Metrics {}, imports: [RateLimitMetricsModule.forRoot(options)] })),
    ],
    controllers: [controller],
  });
}
