import { Payload } from '@nestjs/microservices';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpController, Prompt, Resource, Tool } from '@rekog/mcp-nest';
import {
  ipIdentity,
  RateLimit,
  RateLimiter,
  RateLimitExceededException,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitRequest,
} from 'nestjs-floodgate';
import { z } from 'zod';
import { serveMcp } from '../exchanges/transports/mcp.js';
import { until } from '../support/faults/until.js';
import { type HttpApp, type Platform, PLATFORMS, start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

const TWO = { name: 'two', algorithm: 'fixed-window', limit: 2, window: '1m' } as const;
const BY_USER = { ...TWO, name: 'by-user', by: 'user' } as const;
const LOGINS = { name: 'logins', algorithm: 'fixed-window', limit: 1, window: '1m', by: 'global' } as const;
const QUEUE = { algorithm: 'leaky-bucket', capacity: 2, drain: '1/h', by: 'global', scope: 'app' } as const;

const TEXT = { content: [{ type: 'text', text: 'done' }] };

@McpController()
class Rides {
  constructor(private readonly limiter: RateLimiter) {}

  @Tool({ name: 'search', description: 'finds rides', parameters: z.object({ to: z.string() }) })
  @RateLimit(TWO)
  search(@Payload() { to }: { to: string }): typeof TEXT | undefined {
    return to === 'the station' ? TEXT : undefined;
  }

  @Tool({ name: 'weather', description: 'is not limited' })
  weather(): typeof TEXT {
    return TEXT;
  }

  @Tool({ name: 'book', description: 'counts its user' })
  @RateLimit(BY_USER)
  book(): typeof TEXT {
    return TEXT;
  }

  @Tool({ name: 'login', description: 'asks the limiter itself' })
  async login(): Promise<typeof TEXT> {
    const decision = await this.limiter.consume(LOGINS, null);
    if (!decision.allowed) throw new RateLimitExceededException(decision);
    return TEXT;
  }

  @Tool({ name: 'wait', description: 'waits for its turn' })
  @RateLimit('queue')
  wait(): typeof TEXT {
    return TEXT;
  }

  @Resource({ name: 'fares', uri: 'rides://fares' })
  @RateLimit(TWO)
  fares(): object {
    return { contents: [{ uri: 'rides://fares', text: '{}' }] };
  }

  @Prompt({ name: 'tour', description: 'plans a tour' })
  @RateLimit(TWO)
  tour(): object {
    return { messages: [{ role: 'user', content: { type: 'text', text: 'plan a tour' } }] };
  }
}

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** An application whose users are named by a header, as an authentication of the route would do. */
async function serve(
  platform: Platform,
  options: RateLimitModuleOptions = {},
  mcp: Parameters<typeof serveMcp>[1] = {},
): Promise<HttpApp> {
  let serving: Promise<unknown> | undefined;
  const app = await start(
    platform,
    {
      imports: [
        RateLimitModule.forRoot({
          store: new StillStore(),
          policies: { queue: QUEUE },
          identity: [
            { kind: 'user', resolve: ({ user }: RateLimitRequest<{ user?: { sub: string } }>) => user?.sub },
            ipIdentity(),
          ],
          ...options,
        }),
      ],
      controllers: [Rides],
    },
    {
      configure: (nest) => {
        nest.use((request: { headers: Record<string, string>; user?: object }, _: unknown, next: () => void) => {
          if (request.headers.authorization !== undefined) request.user = { sub: request.headers.authorization };
          next();
        });
        serving = serveMcp(nest, mcp);
      },
    },
  );
  await serving;
  closing.push(() => app.close());
  return app;
}

async function connect(app: HttpApp, user?: string): Promise<Client> {
  return connectWith(app, user === undefined ? {} : { authorization: user });
}

/** @param headers read for each request */
async function connectWith({ port }: HttpApp, headers: Record<string, string>): Promise<Client> {
  const client = new Client({ name: 'agent', version: '1.0.0' });
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  closing.push(() => client.close());
  return client;
}

/** docs/mcp.md shows it. */
const REJECTED = {
  code: 429,
  message: expect.stringContaining('Too many requests, retry in 60 seconds'),
  data: { reason: 'RATE_LIMIT_EXCEEDED', policy: 'two', retry_after_ms: 60_000 },
};

const search = { name: 'search', arguments: { to: 'the station' } };

describe.each(PLATFORMS)('tools of an agent, over %s', (platform) => {
  it('count one by one, and a rejection is an error of JSON-RPC that says when to come again', async () => {
    const app = await serve(platform);
    const client = await connect(app);
    for (let i = 0; i < 2; i++) await expect(client.callTool(search)).resolves.toMatchObject(TEXT);
    await expect(client.callTool(search)).rejects.toMatchObject(REJECTED);
    await expect(client.callTool({ name: 'weather' })).resolves.toMatchObject(TEXT);
    expect(app.logs.of('error')).toEqual([]);
  });

  it('count no call that the server itself refuses', async () => {
    const client = await connect(await serve(platform));
    for (const call of [{ name: 'search', arguments: { to: 1 } }, { name: 'search' }]) {
      await expect(client.callTool(call)).resolves.toMatchObject({ isError: true });
    }
    await expect(client.callTool({ name: 'unknown' })).rejects.toMatchObject({ code: -32602 });
    for (let i = 0; i < 2; i++) await expect(client.callTool(search)).resolves.toMatchObject(TEXT);
    await expect(client.callTool(search)).rejects.toMatchObject(REJECTED);
  });

  it('count resources and prompts as well', async () => {
    const client = await connect(await serve(platform));
    for (let i = 0; i < 2; i++) await client.readResource({ uri: 'rides://fares' });
    await expect(client.readResource({ uri: 'rides://fares' })).rejects.toMatchObject(REJECTED);
    for (let i = 0; i < 2; i++) await client.getPrompt({ name: 'tour' });
    await expect(client.getPrompt({ name: 'tour' })).rejects.toMatchObject(REJECTED);
  });

  it('count the authenticated subject, and the address of a caller without one', async () => {
    const store = new StillStore();
    const app = await serve(platform, { store, onMissingIdentity: 'reject' });
    const [ann, bob, nobody] = [await connect(app, 'ann'), await connect(app, 'bob'), await connect(app)];
    for (const client of [ann, ann, bob]) await client.callTool({ name: 'book' });
    await expect(ann.callTool({ name: 'book' })).rejects.toMatchObject({ code: 429, data: { policy: 'by-user' } });
    await expect(bob.callTool({ name: 'book' })).resolves.toMatchObject(TEXT);
    await expect(nobody.callTool({ name: 'book' })).rejects.toMatchObject({
      code: 401,
      data: { reason: 'RATE_LIMIT_IDENTITY_MISSING', policy: 'by-user', retry_after_ms: null },
    });
    await nobody.callTool(search);
    expect(store.keys).toContainEqual(expect.stringContaining('{ip:127.0.0.1}'));
  });

  it('count in a session the subject of each request, not the one that opened it', async () => {
    const app = await serve(platform, {}, { statefulMode: true });
    const headers = { authorization: 'ann' };
    const client = await connectWith(app, headers);
    for (let i = 0; i < 2; i++) await client.callTool({ name: 'book' });
    await expect(client.callTool({ name: 'book' })).rejects.toMatchObject({ code: 429 });
    headers.authorization = 'bob';
    await expect(client.callTool({ name: 'book' })).resolves.toMatchObject(TEXT);
  });

  it('answer a rejection that a tool throws itself in the same words', async () => {
    const client = await connect(await serve(platform));
    await client.callTool({ name: 'login' });
    await expect(client.callTool({ name: 'login' })).rejects.toMatchObject({
      code: 429,
      data: { reason: 'RATE_LIMIT_EXCEEDED', policy: 'logins', retry_after_ms: 60_000 },
    });
  });

  it('answer 503 while the store is not there', async () => {
    const store = new StillStore();
    store.consume = () => {
      throw new Error('gone');
    };
    const client = await connect(await serve(platform, { store, onStoreFailure: 'closed' }));
    await expect(client.callTool(search)).rejects.toMatchObject({
      code: 503,
      data: { reason: 'RATE_LIMIT_UNAVAILABLE', retry_after_ms: 1000 },
    });
  });

  it('give up their place in a queue when the agent cancels them', async () => {
    const app = await serve(platform, {}, { statefulMode: true });
    const client = await connect(app);
    await client.callTool({ name: 'wait' });
    const limiter = app.app.get(RateLimiter);
    const level = async (): Promise<number> => (await limiter.peek('queue', null)).policies[0]!.remaining;
    const cancelling = new AbortController();
    const before = await level();
    const waiting = client.callTool({ name: 'wait' }, undefined, { signal: cancelling.signal });
    await until('the call waits', 10_000, async () => (await level()) < before);
    cancelling.abort();
    await expect(waiting).rejects.toThrow('abort');
    await until('its place is free', 10_000, async () => (await level()) === before);
  });
});
