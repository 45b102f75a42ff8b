import { UsageError } from '../../tools/command-line.js';
import type { Adapter } from './adapter.js';
import { isPromiseName } from './promises/titles.js';
import { DEFINITIONS } from './run/judge.js';

/** A limiter on trial. */
export interface Contestant {
  readonly adapter: Adapter;
  /** Its module, for the processes. */
  readonly url: string;
}

/** Floodgate stands first: its own failures are to be seen first. */
export const ADAPTERS = [
  'floodgate',
  'floodgate-guard',
  'rate-limiter-flexible',
  'nestjs-throttler',
  'express-rate-limit',
  'fastify-rate-limit',
  'bottleneck',
  'get-then-set',
].map((name) => adapterUrl(name));

/** The module of one of these adapters. */
export function adapterUrl(name: string): string {
  return new URL(`adapters/${name}.ts`, import.meta.url).href;
}

/** @throws {UsageError} when the module has no adapter as its default export, or one that says what the trial does not know */
export async function load(url: string): Promise<Contestant> {
  const { default: adapter } = (await import(url)) as { default?: Adapter };
  if (typeof adapter?.create !== 'function' || typeof adapter.name !== 'string' || !adapter.offers) {
    throw new UsageError(`${url} has no default export with name, offers and create`);
  }
  const { definition, offers, lacks = [] } = adapter;
  if (!DEFINITIONS.includes(definition)) {
    throw new UsageError(`${url}: definition is one of ${DEFINITIONS.join(', ')}, got ${definition}`);
  }
  const unknown = [...Object.keys(offers), ...lacks].filter((name) => !isPromiseName(name));
  if (unknown.length > 0) throw new UsageError(`${url}: no promise is called ${unknown.join(', ')}`);
  return { adapter, url };
}
