import {
  All,
  Controller,
  Get,
  type INestApplication,
  Module,
  Post,
  type Type,
  Version,
  VersioningType,
} from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimitModule } from 'nestjs-floodgate';
import {
  FROM_HEADERS,
  type AppSettings,
  left,
  limited,
  PLATFORMS,
  type Reply,
  type SendOptions,
  start,
} from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const BUCKET: Policy = { algorithm: 'token-bucket', capacity: 100, refill: '1/m' };

@Controller('api')
class Rides {
  @Get('rides')
  @RateLimit(BUCKET)
  list(): string {
    return 'rides';
  }

  @Get(['paths', 'trails/:id'])
  @RateLimit(BUCKET)
  paths(): void {}

  @All('all')
  @RateLimit(BUCKET)
  all(): void {}

  @Get('items/:id')
  @RateLimit(BUCKET)
  item(): void {}

  @Version(['1', '2'])
  @Get('versions')
  @RateLimit(BUCKET)
  versions(): void {}
}

interface Replay {
  /** The number of keys in all charges. */
  readonly buckets: number;
  /** The tokens that are left beyond the expected count: each response but 400 and 404 takes one. */
  readonly surplus: number;
  readonly statuses: readonly number[];
}

/** Sends the requests one after the other, as one client. */
async function replay(
  platform: (typeof PLATFORMS)[number],
  requests: readonly (readonly [path: string, options?: SendOptions])[],
  settings?: AppSettings,
): Promise<Replay> {
  const store = new StillStore();
  await using app = await limited(platform, Rides, { store, identity: FROM_HEADERS }, settings);
  const replies: Reply[] = [];
  for (const [path, options] of requests) replies.push(await app.send(path, options));
  const routed = replies.filter(({ status }) => status !== 404 && status !== 400);
  return {
    buckets: store.keys.length,
    surplus: left(routed.at(-1)!) - (100 - routed.length),
    statuses: replies.map(({ status }) => status),
  };
}

const ONE = { buckets: 1, surplus: 0 };

describe.each(PLATFORMS)('over %s, one route is one bucket', (platform) => {
  it('for all the paths of a handler and all values of a parameter', async () => {
    for (const requests of [
      [['/api/paths'], ['/api/trails/1'], ['/api/trails/2']],
      [['/api/items/1'], ['/api/items/2'], ['/api/items/%33']],
    ] as const)
      expect(await replay(platform, requests)).toEqual({ ...ONE, statuses: [200, 200, 200] });
  });

  it('for all the methods of @All and for a method override header', async () => {
    const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
    const requests: [string, SendOptions?][] = [
      ...methods.map((method) => ['/api/all', { method }] as [string, SendOptions]),
      ['/api/all', { method: 'POST', headers: { 'X-HTTP-Method-Override': 'GET' } }],
    ];
    expect(await replay(platform, requests)).toMatchObject(ONE);
  });

  it('for the versions of one handler', async () => {
    const configure = (app: INestApplication) => void app.enableVersioning({ type: VersioningType.URI });
    const requests: [string][] = [['/v1/api/versions'], ['/v2/api/versions'], ['/V1/api/versions/']];
    expect(await replay(platform, requests, { configure })).toMatchObject(ONE);
  });

  it('for an API key with the header repeated or spelled otherwise: the first value counts', async () => {
    const values = ['k1', ['k1', 'k2', 'k3'], ['k1', 'k1'], ['k1', ''], ['k1', 'k2,k1'], ' k1\t'];
    const requests = values.map((value) => ['/api/rides', { headers: { 'X-API-Key': value } }] as const);
    const spelled = ['/api/rides', { headers: { 'x-aPi-kEy': 'k1' } }] as const;
    expect(await replay(platform, [...requests, spelled])).toMatchObject(ONE);
  });
});

/** Sends the requests one after the other, as one client. Returns what each leaves in its bucket. */
async function leftAfter(
  platform: (typeof PLATFORMS)[number],
  controllers: Type[],
  ...requests: (string | [string, SendOptions])[]
): Promise<number[]> {
  await using app = await limited(platform, controllers, { store: new StillStore() });
  const seen: number[] = [];
  for (const one of requests) seen.push(left(await (typeof one === 'string' ? app.send(one) : app.send(...one))));
  return seen;
}

describe.each(PLATFORMS)('over %s, two routes are two buckets', (platform) => {
  const classNamedSame = (path: string): Type => {
    @Controller(path)
    class Same {
      @Get()
      @RateLimit(BUCKET)
      get(): void {}
    }
    return Same;
  };

  it('in two controllers of one class name', async () => {
    const controllers = [classNamedSame('x'), classNamedSame('y')];
    expect(await leftAfter(platform, controllers, '/x', '/x', '/y')).toEqual([99, 98, 99]);
  });

  it('of one path in two modules that are routed under two prefixes', async () => {
    @Module({ controllers: [classNamedSame('rides')] })
    class First {}
    @Module({ controllers: [classNamedSame('rides')] })
    class Second {}
    const routes = [
      { path: 'first', module: First },
      { path: 'second', module: Second },
    ];
    const limits = RateLimitModule.forRoot({ store: new StillStore() });
    const imports = [limits, First, Second, RouterModule.register(routes)];
    await using app = await start(platform, { imports });
    const seen = [];
    for (const path of ['/first/rides', '/first/rides', '/second/rides']) seen.push(left(await app.send(path)));
    expect(seen).toEqual([99, 98, 99]);
  });

  it('for two methods of one path', async () => {
    @Controller()
    class Methods {
      @Get('same')
      @RateLimit(BUCKET)
      get(): void {}

      @Post('same')
      @RateLimit(BUCKET)
      post(): void {}
    }
    expect(await leftAfter(platform, [Methods], '/same', ['/same', { method: 'POST' }])).toEqual([99, 99]);
  });
});
