import { isDeepStrictEqual } from 'node:util';
import type { INestApplicationContext, Type } from '@nestjs/common';
import { ApplicationConfig, DiscoveryService, MetadataScanner, ModulesContainer } from '@nestjs/core';
import type { OnStoreFailure } from 'floodgate';
import type { OnMissingIdentity, OpenApiDocument } from 'floodgate/http';
import type { AnswerSettings, RejectionStatus, Schema } from 'floodgate/internal';
import { rejectionResponse, rejectionSchema } from 'floodgate/internal-boot';
import { isGuarded } from '../guard/application-guard.js';
import { isExcepted } from '../routes/middleware-exceptions.js';
import type { RateLimitRuntime } from '../guard/rate-limit.runtime.js';
import { type Handler, isRoute } from '../handlers/route.js';
import type { Route } from '../routes/route-policies.js';
import type { BoundPolicy } from '../types.js';
import { METHODS, operationKey, operationKeysOf, type RoutedHandler } from './operation-keys.js';

interface Response {
  readonly $ref?: string;
  readonly description?: string;
  readonly headers?: object;
  readonly content?: object;
}

interface Operation {
  responses?: Record<string, Response>;
}

/** The rejections of an operation, each with the names of the policies that may reject. */
interface Rejections {
  readonly policies: Map<RejectionStatus, Set<string>>;
  /** What the priorities of these policies leave to the operation. */
  readonly classes: Set<string>;
}

/** Adds the answers of an application's rate limit to its document. See `documentRateLimits`. */
export function documentAnswers(
  document: OpenApiDocument,
  app: INestApplicationContext,
  runtime: RateLimitRuntime,
): void {
  const { headers, problem } = runtime.options;
  const settings: AnswerSettings = { headers, problem: typeof problem === 'function' ? 'own' : problem };
  const rejections = rejectionsByOperation(document, app, runtime);
  const schemas = new Schemas(document, settings);
  for (const [key, operation] of operationsOf(document)) {
    const { policies: all = [], classes = [] } = rejections.get(key) ?? {};
    for (const [status, policies] of all) {
      const known = operation.responses?.[status];
      if (known?.$ref !== undefined) continue;
      const ours = rejectionResponse(status, [...policies], settings, schemas.of(status), [...classes]);
      const both = { ...ours, ...known, headers: { ...ours.headers, ...known?.headers } };
      operation.responses = { ...operation.responses, [status]: both };
    }
  }
}

/** The schemas of bodies in a document: each is added to its components where it is first used. */
class Schemas {
  constructor(
    private readonly document: OpenApiDocument,
    private readonly settings: AnswerSettings,
  ) {}

  of(status: RejectionStatus): Schema {
    const { document } = this;
    const [name, schema] = rejectionSchema(status, this.settings, document.openapi);
    const components: { readonly schemas?: Readonly<Record<string, Schema>> } | undefined = document.components;
    const known = components?.schemas?.[name];
    // The application has a schema of this name.
    if (known !== undefined && !isDeepStrictEqual(known, schema)) return schema;
    document.components = { ...components, schemas: { ...components?.schemas, [name]: schema } };
    return { $ref: `#/components/schemas/${name}` };
  }
}

function* operationsOf({ paths }: OpenApiDocument): Iterable<[key: string, operation: Operation]> {
  for (const [path, item] of Object.entries(paths as Record<string, Record<string, Operation>>)) {
    for (const method of METHODS) {
      if (item[method] !== undefined) yield [operationKey(method, path), item[method]];
    }
  }
}

function rejectionsByOperation(
  document: OpenApiDocument,
  app: INestApplicationContext,
  runtime: RateLimitRuntime,
): Map<string, Rejections> {
  const config = app.get(ApplicationConfig, { strict: false });
  const modules = app.get(ModulesContainer, { strict: false });
  const handlers = [...handlersOf(app)];
  const keysOf = (handler: RoutedHandler, withPrefix: boolean): string[] =>
    operationKeysOf(handler, config, modules, withPrefix);
  const known = new Set([...operationsOf(document)].map(([key]) => key));
  // A document may have been made without the prefix: ignoreGlobalPrefix.
  const matches = (prefixed: boolean): number =>
    handlers.flatMap((handler) => keysOf(handler, prefixed)).filter((key) => known.has(key)).length;
  const withPrefix = matches(true) >= matches(false);
  const found = new Map<string, Rejections>();
  for (const handler of handlers) {
    const isLimitable = isGuarded(config, handler.controller, handler.handler);
    const guarded = isLimitable ? runtime.routes.of(handler.controller, handler.handler) : undefined;
    const isListed = runtime.options.blockList !== undefined && (isLimitable || runtime.middleware !== undefined);
    for (const key of keysOf(handler, withPrefix)) {
      let rejections = found.get(key);
      if (rejections === undefined) found.set(key, (rejections = { policies: new Map(), classes: new Set() }));
      // The lists apply to every handler, limited or not.
      if (isListed) rejections.policies.set(403, new Set());
      if (isLimitable && runtime.shedding?.canShed(handler.controller, handler.handler, guarded) === true) {
        rejections.policies.set(503, new Set());
      }
      const isLeftOut = isExcepted(handler.controller, handler.handler, runtime.options.middleware.except ?? []);
      for (const route of [isLeftOut ? undefined : runtime.middleware, guarded]) {
        if (route !== undefined) addRejections(rejections, route, runtime.options);
      }
    }
  }
  return found;
}

function* handlersOf(app: INestApplicationContext): Iterable<RoutedHandler> {
  const scanner = app.get(MetadataScanner, { strict: false });
  for (const { metatype, host } of app.get(DiscoveryService, { strict: false }).getControllers()) {
    if (typeof metatype !== 'function') continue;
    const prototype = metatype.prototype as Readonly<Record<string, Handler>>;
    for (const method of scanner.getAllMethodNames(prototype)) {
      const handler = prototype[method]!;
      if (isRoute(handler)) yield { controller: metatype as Type, handler, module: host?.metatype };
    }
  }
}

interface Defaults {
  readonly onStoreFailure: OnStoreFailure;
  readonly onMissingIdentity: OnMissingIdentity;
}

function addRejections({ policies: all, classes }: Rejections, { staticPolicies }: Route, defaults: Defaults): void {
  const add = (status: RejectionStatus, names: readonly string[]): void => {
    const known = all.get(status);
    if (known === undefined) all.set(status, new Set(names));
    else for (const name of names) known.add(name);
  };
  const policies: readonly Partial<BoundPolicy>[] = staticPolicies?.filter(({ shadow }) => !shadow) ?? [{}];
  if (policies.length === 0) return;
  const names = (of: readonly Partial<BoundPolicy>[]): string[] => of.flatMap(({ name }) => name ?? []);
  const unavailable = policies.filter(
    ({ onStoreFailure, algorithm }) =>
      (onStoreFailure ?? defaults.onStoreFailure) === 'closed' || algorithm?.delays === true,
  );
  const unidentified = policies.filter(
    ({ onMissingIdentity, by }) =>
      (onMissingIdentity ?? defaults.onMissingIdentity) === 'reject' && !ALWAYS_FOUND.includes(by),
  );
  for (const policy of policies) if (policy.priorities !== undefined) classes.add(classOf(policy));
  add(429, names(policies));
  if (unavailable.length > 0) add(503, names(unavailable));
  if (unidentified.length > 0) add(401, names(unidentified));
}

/** What the class of an operation's requests may fill of a policy's limit. */
function classOf({ name, priorities, priority, priorityOf }: Partial<BoundPolicy>): string {
  const parts = [...(priorities ?? [])];
  if (priorityOf === undefined) {
    const part = parts.find(([one]) => one === priority)?.[1];
    return `Under '${name}' the request has the class '${priority}', which may fill ${part} of the limit.`;
  }
  const each = parts.map(([one, part]) => `'${one}' ${part}`).join(', ');
  return `Under '${name}' the class of the request says what it may fill of the limit: ${each}.`;
}

/** Every request has an address. */
const ALWAYS_FOUND: readonly unknown[] = ['client', 'ip', 'global'];
