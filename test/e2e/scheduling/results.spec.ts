import { expect, it } from '@jest/globals';
import { RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { VirtualClock } from 'nestjs-floodgate/testing';
import { start } from '../../support/http-app.js';
import { thenable } from '../../support/user-functions/behaviours.js';
import { ADA, AskedStore } from './support/scheduled-calls.js';

const POLICY = { name: 'partner', algorithm: 'token-bucket', capacity: 1_000, refill: 1 } as const;
const BROKEN = 'broken';

class OtherPromise<T> extends Promise<T> {}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable(Promise.resolve('gone'), {});
  revoke();
  return proxy;
}

function fails(): never {
  throw new Error(BROKEN);
}

/** What `fn` may return, and what the call answers, or rejects with. */
it.each<[what: string, fn: () => unknown, how: 'fulfilled' | 'rejected', answer: string]>([
  ['a value', () => 'done', 'fulfilled', 'done'],
  ['a promise that rejects', async () => fails(), 'rejected', BROKEN],
  ['a promise of another class', () => OtherPromise.resolve('done'), 'fulfilled', 'done'],
  ['a then that throws', () => thenable(fails), 'rejected', BROKEN],
  ['a revoked proxy', revoked, 'rejected', 'revoked'],
  ['an error', fails, 'rejected', BROKEN],
])('passes on %s, whichever store decides, for a new client and for one that is known', async (_, fn, how, answer) => {
  for (const store of [undefined, new AskedStore(new VirtualClock())]) {
    await using app = await start('Express', { imports: [RateLimitModule.forRoot({ ...(store && { store }) })] });
    const limiter = app.app.get(RateLimiter);
    for (let asked = 1; asked <= 3; asked++) {
      const call = limiter.schedule(POLICY, ADA, fn);
      expect(Object.getPrototypeOf(call)).toBe(Promise.prototype);
      const [ended] = await Promise.allSettled([call]);
      const { status, said } =
        ended.status === 'fulfilled'
          ? { status: ended.status, said: ended.value }
          : { status: ended.status, said: (ended.reason as Error).message };
      expect([status, said]).toEqual([how, expect.stringContaining(answer)]);
      expect(limiter.stats().scheduled).toMatchObject([{ policy: 'partner', atOnce: asked }]);
    }
  }
});
