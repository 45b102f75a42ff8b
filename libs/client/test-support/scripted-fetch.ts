import { rateLimitFetch, type RateLimitFetchOptions } from '../src/index.js';
import { type Scripted, ScriptedServer } from './scripted-server.js';
import { VirtualTime } from './virtual-time.js';

export const REJECTION = { status: 429, headers: { 'Retry-After': '2' } };

/** A server with these answers, and a fetch on a clock that stands still while requests are on the way. */
export async function setUp(answers: readonly Scripted[], options: RateLimitFetchOptions = {}) {
  const time = new VirtualTime();
  const server = await ScriptedServer.start(answers, time.now);
  const limited = rateLimitFetch({ time, random: () => 0, fetch: time.fetch, ...options });
  return { time, server, limited, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}
