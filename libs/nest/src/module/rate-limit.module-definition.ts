import { ConfigurableModuleBuilder, type DynamicModule } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { RateLimitGuard } from '../guard/rate-limit.guard.js';
import type { RateLimitModuleExtras, RateLimitModuleOptions } from '../options/module-options.js';
import { THIS_COPY } from './this-copy.js';
import { CONFIGURED } from './single-runtime.js';

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<RateLimitModuleOptions>({ moduleName: 'RateLimit' })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createRateLimitOptions')
    .setExtras<RateLimitModuleExtras>({ guard: true }, (definition, { guard }): DynamicModule => {
      const guards = guard === false ? [] : [{ provide: APP_GUARD, useExisting: RateLimitGuard }];
      const providers = [...(definition.providers ?? []), { provide: CONFIGURED, useValue: THIS_COPY }, ...guards];
      return { ...definition, global: true, providers };
    })
    .build();
