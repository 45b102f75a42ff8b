import { deepStrictEqual, ok } from 'node:assert';
import { Controller, Get, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  seconds,
  Throttle,
  ThrottlerGuard,
  ThrottlerModule,
  type ThrottlerModuleOptions,
} from 'nestjs-floodgate/throttler';
import { create } from './platform.js';

const options: ThrottlerModuleOptions = [{ limit: 100, ttl: seconds(60) }];

@Controller()
class ThrottledController {
  @Get('throttled')
  @Throttle({ default: { limit: 2, ttl: seconds(60) } })
  throttled() {
    return { served: true };
  }
}

@Module({
  imports: [ThrottlerModule.forRoot(options)],
  controllers: [ThrottledController],
  providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
})
class ThrottledModule {}

/** Rejects the third request to a route that its throttler lets through twice, in the words of @nestjs/throttler. */
export async function useThrottler(): Promise<void> {
  const app = await create(ThrottledModule);
  try {
    await app.listen(0, '127.0.0.1');
    const statuses: number[] = [];
    let last: Response | undefined;
    for (let i = 0; i < 3; i++) statuses.push((last = await fetch(`${await app.getUrl()}/throttled`)).status);
    deepStrictEqual(statuses, [200, 200, 429]);
    ok(Number(last?.headers.get('retry-after')) > 0);
    deepStrictEqual(await last?.json(), { statusCode: 429, message: 'ThrottlerException: Too Many Requests' });
  } finally {
    await app.close();
  }
}
