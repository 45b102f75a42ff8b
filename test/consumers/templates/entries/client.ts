import { deepStrictEqual, notStrictEqual } from 'node:assert';
import { type ClientWait, rateLimitFetch, type RateLimitFetchOptions } from 'floodgate-client';

/** Asks twice for a route that one request a second passes: the client waits, and shows no 429. */
export async function useClient(url: string): Promise<void> {
  const waits: ClientWait[] = [];
  const options: RateLimitFetchOptions = { maxWait: '20s', onWait: (wait) => void waits.push(wait) };
  const limited = rateLimitFetch(options);
  const statuses: number[] = [];
  for (let i = 0; i < 2; i++) {
    const response = await limited(`${url}/each-second`);
    statuses.push(response.status);
    await response.text();
  }
  deepStrictEqual(statuses, [200, 200]);
  notStrictEqual(waits.length, 0);
}
