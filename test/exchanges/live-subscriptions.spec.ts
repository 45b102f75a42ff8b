import { Query, Resolver, Subscription } from '@nestjs/graphql';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createClient } from 'graphql-ws';
import { type ConcurrencyPolicy, RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { WebSocket } from 'undici';
import { DRIVERS, startGraphql } from '../contexts/support/graphql-app.js';
import { until } from '../support/faults/until.js';
import { RateLimitRuntime } from '../support/runtime.js';

jest.setTimeout(60_000);

const LIMIT_MS = 20_000;
const IP = { kind: 'ip', value: '127.0.0.1' } as const;
/** Its leases outlive the test. */
const TWO: ConcurrencyPolicy = { name: 'two', algorithm: 'concurrency', limit: 2, lease: '1h', scope: 'app' };

/** Subscriptions that wait for their end. */
let live: (() => void)[] = [];
beforeEach(() => {
  live = [];
});

@Resolver()
class Feed {
  @Query(() => String)
  none(): string {
    return '';
  }

  @Subscription(() => String)
  @RateLimit(TWO)
  async *news(): AsyncGenerator<{ news: string }> {
    yield { news: 'first' };
    await new Promise<void>((resolve) => live.push(resolve));
    yield { news: 'last' };
  }
}

describe.each(DRIVERS)('with %s, a concurrency of 2 on a subscription', (driver) => {
  it('lets 2 of 10 live at once, and the next one when one of them has ended', async () => {
    await using app = await startGraphql(
      driver,
      { imports: [RateLimitModule.forRoot()], providers: [Feed] },
      { apollo: { subscriptions: { 'graphql-ws': true } }, mercurius: { subscription: { fullWsTransport: true } } },
    );
    const client = createClient({
      url: app.url.replace('http', 'ws'),
      webSocketImpl: WebSocket,
      retryAttempts: 0,
      lazy: false,
    });
    await using _ = { [Symbol.asyncDispose]: async () => client.dispose() };
    let [answered, rejected, ended] = [0, 0, 0];
    const subscribe = (): (() => void) =>
      client.subscribe(
        { query: 'subscription { news }' },
        {
          next: ({ data, errors }) => {
            if (errors !== undefined) rejected++;
            else if (data?.['news'] === 'first') answered++;
          },
          error: () => rejected++,
          complete: () => ended++,
        },
      );
    const leave = Array.from({ length: 10 }, subscribe);
    await until('all are decided', LIMIT_MS, () => answered + rejected === 10);
    expect({ answered, rejected }).toEqual({ answered: 2, rejected: 8 });
    const places = async (): Promise<number> =>
      (await app.http.app.get(RateLimiter).peek(TWO, IP)).policies[0]!.remaining;
    expect(await places()).toBe(0);

    await until('both wait', LIMIT_MS, () => live.length === 2);
    live.shift()!(); // its source is exhausted
    await until('a place is free', LIMIT_MS, async () => (await places()) === 1);
    subscribe();
    await until('the next one lives', LIMIT_MS, () => answered === 3 && live.length === 2);
    expect(await places()).toBe(0);

    for (const one of leave) one();
    await client.dispose();
    for (const end of live) end();
    await until('all places are free', LIMIT_MS, async () => (await places()) === 2);
    expect(app.http.app.get(RateLimitRuntime).leases.size).toBe(0);
    expect(ended).toBeGreaterThanOrEqual(1);
  });
});
