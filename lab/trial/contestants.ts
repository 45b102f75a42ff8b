import type { Adapter } from './adapter.js';

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

export async function load(url: string): Promise<Contestant> {
  const { default: adapter } = (await import(url)) as { default: Adapter };
  return { adapter, url };
}
