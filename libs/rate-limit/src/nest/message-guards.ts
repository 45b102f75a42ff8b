import {
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { GUARDS_METADATA } from '@nestjs/common/constants.js';
import { ApplicationConfig, DiscoveryService, MetadataScanner } from '@nestjs/core';
import { limitableHandlers } from './boot-checks.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { RateLimitRuntime } from './rate-limit.runtime.js';
import type { Handler } from './route.js';

/**
 * Has the guards that are bound for all routes limit message handlers as well, in hybrid applications. `connectMicroservice`
 * without `inheritAppConfig` gives a microservice a configuration of its own, without global guards, and nothing says so. Where
 * they are inherited, the guard finds that the message is charged.
 *
 * It binds itself as `@UseGuards` would, and does so while Nest makes the providers: `connectMicroservice` reads the metadata
 * before any hook is called.
 */
@Injectable()
export class MessageGuards implements CanActivate, OnApplicationShutdown {
  private readonly bound: Handler[] = [];

  constructor(
    @Inject(ApplicationConfig) private readonly application: ApplicationConfig,
    @Inject(RateLimitRuntime) runtime: RateLimitRuntime,
    @Inject(DiscoveryService) discovery: DiscoveryService,
    @Inject(MetadataScanner) scanner: MetadataScanner,
  ) {
    for (const { handler, adapter } of limitableHandlers(discovery, scanner, runtime.contexts)) {
      if (adapter.type !== 'rpc') continue;
      Reflect.defineMetadata(GUARDS_METADATA, [...this.others(handler), this], handler);
      this.bound.push(handler);
    }
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    for (const guard of this.application.getGlobalGuards()) {
      if (guard instanceof RateLimitGuard && !(await guard.canActivate(context))) return false;
    }
    return true;
  }

  /** Classes outlive an application, in tests for example. */
  onApplicationShutdown(): void {
    for (const handler of this.bound) Reflect.defineMetadata(GUARDS_METADATA, this.others(handler), handler);
  }

  private others(handler: Handler): CanActivate[] {
    const guards = (Reflect.getMetadata(GUARDS_METADATA, handler) ?? []) as CanActivate[];
    return guards.filter((other) => other !== this);
  }
}
