import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  Inject,
  Injectable,
  Optional,
  type Type,
} from '@nestjs/common';
import { EXCEPTION_FILTERS_METADATA } from '@nestjs/common/constants.js';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { LimiterUnavailableError } from '../../charges/errors.js';
import { limitableHandlers } from '../contexts/limitable-handlers.js';
import type { RateLimitException } from '../contexts/context-adapter.js';
import { isStreamCall } from '../contexts/grpc.js';
import { wsContext } from '../contexts/ws.js';
import {
  RateLimitExceededException,
  RateLimitIdentityMissingException,
  RateLimitUnavailableException,
  toHttpException,
} from '../exceptions/exceptions.js';
import { RateLimitRuntime } from '../guard/rate-limit.runtime.js';

/**
 * Answers rejections in handlers for which Nest calls no global filter. The metadata of a class outlives applications: in one
 * without `RateLimitModule`, Nest makes it without a runtime.
 */
@Injectable()
@Catch(
  RateLimitExceededException,
  RateLimitUnavailableException,
  RateLimitIdentityMissingException,
  LimiterUnavailableError,
)
export class LocalFilter implements ExceptionFilter {
  constructor(@Optional() @Inject(RateLimitRuntime) private readonly runtime?: RateLimitRuntime) {}

  catch(caught: RateLimitException | LimiterUnavailableError, host: ArgumentsHost): unknown {
    const type = host.getType<string>();
    const adapter = this.runtime?.contexts.of(type) ?? (type === 'ws' ? wsContext() : undefined);
    return adapter?.caught?.(toHttpException(caught) as RateLimitException, host);
  }
}

/**
 * Binds `LocalFilter` as `@UseFilters` would: to gateways, for which Nest calls no global filters, and to the handlers of
 * `@GrpcStreamCall`, whose errors end the process. It comes after the filters of the application on the same class or method.
 * Nest has collected the classes of filters by then, so their modules are given the instance.
 */
export class LocalFilterBinder {
  constructor(runtime: RateLimitRuntime, discovery: DiscoveryService, scanner: MetadataScanner, filter: LocalFilter) {
    const wrappers = [...discovery.getControllers(), ...discovery.getProviders()];
    const own = wrappers.find(({ instance }) => instance === filter)!;
    const types = new Set<Type>();
    for (const { type, handler, adapter } of limitableHandlers(discovery, scanner, runtime.contexts)) {
      if (adapter.caught === undefined) continue;
      if (adapter.type === 'ws') bind(type);
      else if (adapter.type === 'rpc' && isStreamCall(handler)) bind(handler);
      else continue;
      types.add(type);
    }
    for (const { metatype, host } of wrappers) {
      if (types.has(metatype as Type)) host?.injectables.set(LocalFilter, own);
    }
  }
}

function bind(place: object): void {
  const bound = (Reflect.getMetadata(EXCEPTION_FILTERS_METADATA, place) as readonly unknown[] | undefined) ?? [];
  // Nest asks the last one first.
  if (!bound.includes(LocalFilter)) Reflect.defineMetadata(EXCEPTION_FILTERS_METADATA, [LocalFilter, ...bound], place);
}
