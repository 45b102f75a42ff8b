import { Controller, Get, Post } from '@nestjs/common';
import {
  type Policy,
  RateLimit,
  type RateLimitModuleExtras,
  type RateLimitModuleOptions,
  SkipRateLimit,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited, type PLATFORMS } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const WINDOW: Policy = { name: 'daily', algorithm: 'fixed-window', limit: 3, window: '300d', by: 'user' };
const PLANNED: Policy = {
  name: 'planned',
  algorithm: 'token-bucket',
  capacity: 2,
  refill: '1/h',
  by: 'user',
  plans: { pro: { capacity: 20 } },
};
export const ADA = { kind: 'user', value: 'ada' };
export const START = Date.UTC(2024, 0, 1);

@Controller('shop')
export class Shop {
  @Get()
  @RateLimit(WINDOW, { name: 'all', algorithm: 'token-bucket', capacity: 50, refill: 1, by: 'global' })
  list(): void {}

  @Post('orders')
  @RateLimit({
    name: 'orders',
    algorithm: 'token-bucket',
    capacity: 4,
    refill: '1/m',
    cost: 2,
    onStoreFailure: 'closed',
  })
  order(): void {}

  @Get('planned')
  @RateLimit(PLANNED)
  planned(): void {}

  @Get('chosen')
  @RateLimit(() => WINDOW, { name: 'fixed', algorithm: 'fixed-window', limit: 9, window: '1d', by: 'ip' })
  chosen(): void {}

  @Get('tenants')
  @RateLimit({
    ...WINDOW,
    name: 'tenants',
    by: () => ({ kind: 'tenant', value: 't-1' }),
    skipIf: () => false,
    cost: () => 1,
  })
  tenants(): void {}

  @Get('open')
  @SkipRateLimit()
  open(): void {}

  @Get('bare')
  bare(): void {}
}

@Controller('twins')
@RateLimit({ ...WINDOW, name: 'twins' })
class Twins {
  @Get()
  one(): void {}
}

const POLICIES: Record<string, Policy> = { emails: { algorithm: 'sliding-window-log', limit: 2, window: '1h' } };

export function open(
  platform: (typeof PLATFORMS)[number],
  options: RateLimitModuleOptions & RateLimitModuleExtras = {},
): Promise<HttpApp> {
  return limited(platform, [Shop, Twins], {
    identity: FROM_HEADERS,
    policies: POLICIES,
    middleware: [{ name: 'address', algorithm: 'token-bucket', capacity: 100, refill: 1, by: 'ip' }],
    plan: { resolve: ({ headers }: Asked) => planOf(headers) },
    ...(options.redis === undefined && { store: new StillStore() }),
    ...options,
  });
}

interface Asked {
  readonly headers: Readonly<Record<string, string>>;
}

function planOf(headers: Record<string, string>): string | undefined {
  return headers['x-user-id'] === 'ada' ? 'pro' : undefined;
}
