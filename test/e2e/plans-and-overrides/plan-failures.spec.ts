import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { RateLimiter } from 'nestjs-floodgate';
import { app, limitOf, passing } from '../support/planned-routes.js';

const hang = (): Promise<never> => new Promise(() => undefined);
const BAD: [string, () => never][] = [
  ['hangs', hang as () => never],
  ['rejects', (() => Promise.reject(new Error('no database'))) as () => never],
  ['returns a number', (() => 7) as unknown as () => never],
];

describe('a resolver that', () => {
  it.each(BAD)('%s means the fallback, within the deadline, with one call and one warning', async (_, resolve) => {
    let calls = 0;
    const counted = (): never => {
      calls++;
      return resolve();
    };
    await using http = await app('Express', {}, { resolve: counted, fallback: 'pro' });
    await http.as('ada', '/plain');
    expect(await limitOf(http, 'ada')).toBe(5);
    expect(await passing(http, 'ada')).toBe(4);
    expect(calls).toBe(1);
    const { functionFailures, plans } = http.app.get(RateLimiter).stats();
    expect([functionFailures.plan, plans]).toEqual([1, { cache: 0, resolver: 0, lastKnown: 0, fallback: 13 }]);
    expect(http.logs.of('error')).toEqual([]);
    expect(
      http.logs.of('warn').filter((line) => line.startsWith('plan.resolve of RateLimitModule failed')),
    ).toHaveLength(1);
  });

  it.each(BAD)('%s after its first answer leaves the last known plan in force', async (_, resolve) => {
    let fails = false;
    await using http = await app(
      'Express',
      {},
      {
        resolve: () => (fails ? resolve() : 'enterprise'),
        cacheFor: '20ms',
        fallback: 'pro',
      },
    );
    expect(await limitOf(http, 'ada')).toBe(9);
    fails = true;
    await delay(30);
    for (let i = 0; i < 5; i++) expect(await limitOf(http, 'ada')).toBe(9);
    expect(http.app.get(RateLimiter).stats().plans).toMatchObject({ lastKnown: 5, fallback: 0 });
  });
});
