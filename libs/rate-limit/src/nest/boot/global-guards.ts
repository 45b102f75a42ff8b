import { type CanActivate, type ExecutionContext, Inject, Injectable, Optional, type Type } from '@nestjs/common';
import { GUARDS_METADATA } from '@nestjs/common/constants.js';
import { ApplicationConfig, type DiscoveryService, type MetadataScanner } from '@nestjs/core';
import { globalGuards } from '../guard/application-guard.js';
import { limitableHandlers } from '../contexts/limitable-handlers.js';
import type { RateLimitRuntime } from '../guard/rate-limit.runtime.js';
import type { Handler } from '../handlers/route.js';

/**
 * Calls the guards that are bound for all routes. If Nest calls them as well, the second call finds the message already
 * charged. In an application without `RateLimitModule` it lets everything pass: the metadata of a class outlives applications.
 */
@Injectable()
export class GlobalGuards implements CanActivate {
  constructor(@Optional() @Inject(ApplicationConfig) private readonly application?: ApplicationConfig) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.application === undefined) return true;
    for (const guard of globalGuards(this.application)) if (!(await guard.canActivate(context))) return false;
    return true;
  }
}

/**
 * Binds `GlobalGuards` to the handlers that Nest calls without global guards: those of messages in a hybrid application, whose
 * `connectMicroservice` has a configuration of its own without `inheritAppConfig`, and those of gateways on Nest 11.
 *
 * It binds as `@UseGuards` would, while Nest makes the providers: `connectMicroservice` reads the metadata before any hook is
 * called. Nest has collected the classes of guards by then, so their modules are given the instance.
 */
export class GlobalGuardsBinder {
  constructor(runtime: RateLimitRuntime, discovery: DiscoveryService, scanner: MetadataScanner, guards: GlobalGuards) {
    const wrappers = [...discovery.getControllers(), ...discovery.getProviders()];
    const own = wrappers.find(({ instance }) => instance === guards)!;
    const types = new Set<Type>();
    for (const { type, handler, adapter } of limitableHandlers(discovery, scanner, runtime.contexts)) {
      if (adapter.type !== 'rpc' && adapter.type !== 'ws') continue;
      bind(handler);
      types.add(type);
    }
    for (const { metatype, host } of wrappers) {
      if (types.has(metatype as Type)) host?.injectables.set(GlobalGuards, own);
    }
  }
}

function bind(handler: Handler): void {
  const bound = (Reflect.getMetadata(GUARDS_METADATA, handler) as readonly unknown[] | undefined) ?? [];
  if (!bound.includes(GlobalGuards)) Reflect.defineMetadata(GUARDS_METADATA, [GlobalGuards, ...bound], handler);
}
