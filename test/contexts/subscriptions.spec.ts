import { Int, Mutation, Query, Resolver, Subscription } from '@nestjs/graphql';
import { describe, expect, it } from '@jest/globals';
import { createClient } from 'graphql-ws';
import { WebSocket } from 'undici';
import { type Policy, RateLimit, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { FROM_HEADERS } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { type Driver, DRIVERS, type GraphqlApp, type GraphqlSettings, startGraphql } from './support/graphql-app.js';

const TWENTY: Policy = { name: 'twenty', algorithm: 'fixed-window', limit: 20, window: '1h' };

@Resolver()
class Feed {
  @Query(() => Int)
  none(): number {
    return 0;
  }

  @Subscription(() => Int)
  @RateLimit(TWENTY)
  async *ticks(): AsyncGenerator<{ ticks: number }> {
    for (let ticks = 1; ticks <= 3; ticks++) yield { ticks };
  }

  @Mutation(() => Int)
  @RateLimit(TWENTY)
  login(): number {
    return 1;
  }
}

const WITH_SOCKETS: GraphqlSettings = {
  apollo: { subscriptions: { 'graphql-ws': true } },
  mercurius: { subscription: { fullWsTransport: true } },
};

function begin(driver: Driver, options: RateLimitModuleOptions, settings: GraphqlSettings = {}): Promise<GraphqlApp> {
  const imports = [RateLimitModule.forRoot(options)];
  return startGraphql(driver, { imports, providers: [Feed] }, { ...WITH_SOCKETS, ...settings });
}

/** What one operation over a socket came to: its data, or its errors. */
async function all(
  client: ReturnType<typeof createClient>,
  query: string,
): Promise<{ data: unknown[]; errors: readonly unknown[] }> {
  const data: unknown[] = [];
  const errors: unknown[] = [];
  try {
    for await (const result of client.iterate({ query })) {
      if (result.data) data.push(result.data);
      errors.push(...(result.errors ?? []));
    }
  } catch (error) {
    errors.push(...(Array.isArray(error) ? error : [error]));
  }
  return { data, errors };
}

describe.each(DRIVERS)('over a WebSocket with %s', (driver) => {
  const open = (app: GraphqlApp) =>
    createClient({ url: app.url.replace('http', 'ws'), webSocketImpl: WebSocket, retryAttempts: 0 });

  it('a subscription counts when it begins, and is rejected on the 21st; a mutation counts as over HTTP', async () => {
    const store = new StillStore();
    await using app = await begin(driver, { store });
    const client = open(app);
    for (let i = 0; i < 20; i++) {
      const { data, errors } = await all(client, 'subscription { ticks }');
      expect([data, errors]).toEqual([[{ ticks: 1 }, { ticks: 2 }, { ticks: 3 }], []]);
    }
    const { data, errors } = await all(client, 'subscription { ticks }');
    expect(data).toEqual([]);
    expect(errors).toEqual([
      expect.objectContaining({ extensions: expect.objectContaining({ code: 'RATE_LIMITED', retryAfter: 3600 }) }),
    ]);
    expect((await all(client, 'mutation { a: login b: login }')).data).toEqual([{ a: 1, b: 1 }]);
    await app.ask('mutation { login }');
    expect(store.asked).toHaveLength(21 + 3);
    expect(store.keys.slice(0, 1)).toEqual([expect.stringContaining('rl:{ip:127.0.0.1}:Feed.ticks')]);
    expect(store.keys).toHaveLength(2);
    await client.dispose();
  });

  it('a client behind a trusted proxy has its own address, and cannot choose one without', async () => {
    const store = new StillStore();
    const ask = async (app: GraphqlApp, forwarded: string): Promise<void> => {
      const client = createClient({
        url: app.url.replace('http', 'ws'),
        webSocketImpl: class extends WebSocket {
          constructor(url: string, protocols: string) {
            super(url, { protocols, headers: { 'x-forwarded-for': forwarded } });
          }
        },
        retryAttempts: 0,
      });
      expect((await all(client, 'mutation { login }')).errors).toEqual([]);
      await client.dispose();
    };
    await using trusting = await begin(driver, { store }, { trustProxy: 'loopback, 10.0.0.0/8' });
    await ask(trusting, '6.6.6.6, 1.2.3.4, 10.1.1.1');
    await using other = await begin(driver, { store });
    await ask(other, '6.6.6.6');
    expect(store.keys.map((key) => key.split(':Feed')[0])).toEqual(['rl:{ip:1.2.3.4}', 'rl:{ip:127.0.0.1}']);
  });

  it('the first message of a connection adds no identities', async () => {
    const store = new StillStore();
    const forged = { 'x-user-id': 'mallory', 'x-forwarded-for': '6.6.6.6', ip: '6.6.6.6' };
    for (const connectionParams of [forged, { headers: forged, user: { id: 'mallory' } }]) {
      await using app = await begin(driver, { store, identity: FROM_HEADERS }, { trustProxy: 'loopback' });
      const client = createClient({
        url: app.url.replace('http', 'ws'),
        webSocketImpl: WebSocket,
        retryAttempts: 0,
        connectionParams,
      });
      for (let i = 0; i < 2; i++) expect((await all(client, 'subscription { ticks }')).errors).toEqual([]);
      await client.dispose();
    }
    expect(store.keys).toEqual([expect.stringContaining('rl:{ip:127.0.0.1}:Feed.ticks')]);
  });
});
