import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, MODULE_PATH, PATH_METADATA, VERSION_METADATA } from '@nestjs/common/constants.js';
import type { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { RoutePathFactory } from '@nestjs/core/router/route-path-factory.js';
import type { Handler } from '../handlers/route.js';

/** A handler with the controller and the module through which Nest routes to it. */
export interface RoutedHandler {
  readonly controller: Type;
  readonly handler: Handler;
  /** The class of the module. */
  readonly module: Type | undefined;
}

/** The methods of an OpenAPI path. */
export const METHODS = [
  'get',
  'put',
  'post',
  'delete',
  'options',
  'head',
  'patch',
  'trace',
  'search',
  'query',
] as const;

/** Names an operation of a document so that the spelling of its parameters does not matter: `get /cats/{}`. */
export function operationKey(method: string, path: string): string {
  const named = path
    .replace(/\[:\]|::|\\:/g, '\0') // colons that begin no parameter
    .replace(/\(\.\*\)|(?<=\/)\+/g, '*') // Express 4
    .replace(/\([^)]*\)/g, '') // expressions of Fastify
    .replace(/\{([^{}/:*]+)\}/g, ':$1') // OpenAPI
    .replace(/[{}]/g, '') // groups
    .replace(/[:*](?:"[^"]*"|[\p{ID_Continue}$]*)/gu, '{}')
    .replaceAll('\0', ':');
  return `${method} ${named.replace(/(?<=.)\/$/, '')}`;
}

/**
 * The operations that requests of a handler belong to: each path of the controller and of the handler, in each version.
 *
 * @param withPrefix whether the paths begin with the application's global prefix
 */
export function operationKeysOf(
  { controller, handler, module }: RoutedHandler,
  config: ApplicationConfig,
  modules: ModulesContainer,
  withPrefix: boolean,
): string[] {
  const versioningOptions = config.getVersioning();
  const method = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod;
  const prefix = config.getGlobalPrefix();
  const metadata = {
    ctrlPath: Reflect.getMetadata(PATH_METADATA, controller) as string,
    methodPath: Reflect.getMetadata(PATH_METADATA, handler) as string,
    modulePath: modulePathOf(module, modules),
    globalPrefix: withPrefix && prefix !== '' ? `/${prefix.replace(/^\//, '')}` : '',
    controllerVersion:
      versioningOptions && (Reflect.getMetadata(VERSION_METADATA, controller) ?? versioningOptions.defaultVersion),
    methodVersion: Reflect.getMetadata(VERSION_METADATA, handler),
    versioningOptions,
  };
  const paths = new RoutePathFactory(config).create(metadata, method);
  const methods = method === RequestMethod.ALL ? METHODS : [RequestMethod[method].toLowerCase()];
  return paths.flatMap((path) => methods.map((one) => operationKey(one, path)));
}

function modulePathOf(module: Type | undefined, modules: ModulesContainer): string {
  if (module === undefined) return '';
  const own: unknown = Reflect.getMetadata(MODULE_PATH + modules.applicationId, module);
  return (own ?? Reflect.getMetadata(MODULE_PATH, module) ?? '') as string;
}
