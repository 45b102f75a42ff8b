import type { Type } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { tellDecision } from './rate-limit-decision.decorator.js';

/** The indexes of a method's parameters for its decision. */
export function decisionParameters(type: Type, method: string): readonly number[] {
  const parameters: unknown = Reflect.getMetadata(ROUTE_ARGS_METADATA, type, method);
  return Object.values(Object(parameters) as Record<string, { readonly index: number; readonly factory?: unknown }>)
    .filter(({ factory }) => factory === tellDecision)
    .map(({ index }) => index);
}

/** Whether a method has a parameter for its decision. */
export function asksForDecision(type: Type, method: string): boolean {
  return decisionParameters(type, method).length > 0;
}
