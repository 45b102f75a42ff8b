import type { NestInterceptor } from '@nestjs/common';
import { INTERCEPTORS_METADATA } from '@nestjs/common/constants.js';

/** Binds an interceptor to a handler, once, before the method's own ones, so that it sees what they change. */
export function bindInterceptor(handler: object, interceptor: NestInterceptor): void {
  const bound = (Reflect.getMetadata(INTERCEPTORS_METADATA, handler) as readonly unknown[] | undefined) ?? [];
  if (bound.includes(interceptor)) return;
  Reflect.defineMetadata(INTERCEPTORS_METADATA, [interceptor, ...bound], handler);
}
