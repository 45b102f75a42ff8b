import { Controller, Get, type ModuleMetadata, type Type } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule, type ThrottlerModuleOptions } from 'nestjs-floodgate/throttler';
import { type HttpApp, start } from '../../support/http-app.js';

@Controller()
export class Routes {
  @Get('one')
  one(): string {
    return 'one';
  }

  @Get('other')
  other(): string {
    return 'other';
  }
}

export const TWO = { limit: 2, ttl: 60_000 };

/** An application of these controllers with a guard for all routes. */
export function throttled(
  options: ThrottlerModuleOptions,
  controllers: Type[] = [Routes],
  guard: Type | null = ThrottlerGuard,
  more: ModuleMetadata = {},
): Promise<HttpApp> {
  return start('Express', {
    imports: [ThrottlerModule.forRoot(options)],
    controllers,
    providers: guard === null ? [] : [{ provide: APP_GUARD, useClass: guard }],
    ...more,
  });
}

export function methodOf({ prototype }: Type, name: string): object {
  return (prototype as Record<string, object>)[name]!;
}
