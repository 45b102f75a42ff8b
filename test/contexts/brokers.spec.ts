import { headers } from '@nats-io/transport-node';
import { Controller } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  type ClientOptions,
  type ClientProxy,
  ClientProxyFactory,
  MessagePattern,
  type MicroserviceOptions,
  NatsRecordBuilder,
  Transport,
} from '@nestjs/microservices';
import { firstValueFrom } from 'rxjs';
import { describe, expect, it } from '@jest/globals';
import { type Outcome, type Policy, RateLimit, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { until } from '../support/faults/until.js';
import { CapturedLogs, FROM_HEADERS } from '../support/http-app.js';
import { NatsServer } from '../support/nats-server.js';
import { RedisServer } from '../support/redis-server.js';
import { StillStore } from '../support/still-store.js';

const TWENTY = { name: 'twenty', algorithm: 'fixed-window', limit: 20, window: '1h' } as const satisfies Policy;

const ENDINGS: Outcome[] = [];

@Controller()
class Rides {
  @MessagePattern('all')
  @RateLimit({ ...TWENTY, by: 'global' })
  all(): string {
    return 'all';
  }

  @MessagePattern('address')
  @RateLimit(TWENTY)
  byAddress(): string {
    return 'passed';
  }

  @MessagePattern('one-at-a-time')
  @RateLimit(
    { name: 'one', algorithm: 'concurrency', limit: 1, lease: '1h', by: 'global' },
    { ...TWENTY, by: 'global', countIf: (outcome) => ENDINGS.push(outcome) === 0 },
  )
  oneAtATime(): string {
    return 'done';
  }

  @MessagePattern('refused')
  @RateLimit({ ...TWENTY, onMissingIdentity: 'reject' })
  refused(): string {
    return 'never';
  }
}

/** The options of the server, of which those of the client are a part. */
type Transported = Extract<MicroserviceOptions, { transport?: Transport.REDIS | Transport.NATS }>;

/** A broker that runs, and how Nest reaches it. */
interface Broker extends AsyncDisposable {
  readonly transport: Transported;
}

async function redis(): Promise<Broker> {
  const server = await RedisServer.start();
  const { host, port } = server;
  return {
    transport: { transport: Transport.REDIS, options: { host, port } },
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

async function nats(): Promise<Broker> {
  const server = await NatsServer.start();
  return {
    transport: { transport: Transport.NATS, options: { servers: [server.url] } },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** An application behind a broker, and its client. */
class BrokeredApp implements AsyncDisposable {
  private constructor(
    readonly logs: CapturedLogs,
    private readonly client: ClientProxy,
    private readonly close: () => Promise<void>,
  ) {}

  static async start({ transport }: Broker, options: RateLimitModuleOptions): Promise<BrokeredApp> {
    const logs = new CapturedLogs();
    class Root {}
    const app = await NestFactory.createMicroservice<MicroserviceOptions>(
      { module: Root, imports: [RateLimitModule.forRoot(options)], controllers: [Rides] },
      { ...transport, logger: logs, abortOnError: false },
    );
    await app.listen();
    return new BrokeredApp(logs, ClientProxyFactory.create(transport as ClientOptions), () => app.close());
  }

  send(pattern: string, data: unknown = { ip: '6.6.6.6', headers: { 'x-user-id': 'eve' } }): Promise<unknown> {
    return firstValueFrom(this.client.send<unknown>(pattern, data));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.close();
  }
}

describe.each([
  ['Redis', redis],
  ['NATS', nats],
])('messages over %s', (_, start) => {
  it('count all together, are an error where an address would count, and end with their handler', async () => {
    await using broker = await start();
    const store = new StillStore();
    await using app = await BrokeredApp.start(broker, { store });
    for (let i = 0; i < 20; i++) expect(await app.send('all')).toBe('all');
    await expect(app.send('all')).rejects.toMatchObject({ statusCode: 429, retry_after: 3600, policy: 'twenty' });
    await expect(app.send('refused')).rejects.toMatchObject({ statusCode: 401, policy: 'twenty' });
    expect(app.logs.of('error')).toEqual([]);
    await expect(app.send('address')).rejects.toEqual({ status: 'error', message: 'Internal server error' });
    expect(app.logs.of('error')).toEqual([
      expect.stringContaining(
        "Rides.byAddress: a request of context 'rpc' has no identity that its policy counts, and no address: let the policy " +
          "count by: 'global', or by a function of the request and its context, or choose onMissingIdentity: 'reject'",
      ),
    ]);
    expect(store.keys).toHaveLength(1);
    // A broker does not say that a sender has left: a message ends with its handler.
    ENDINGS.length = 0;
    for (let i = 1; i <= 3; i++) {
      expect(await app.send('one-at-a-time')).toBe('done');
      await until('the message has ended', 5_000, () => ENDINGS.length === i);
    }
    for (const ending of ENDINGS) expect(ending).toMatchObject({ value: 'done', error: undefined, aborted: false });
  });
});

describe('a message over NATS', () => {
  it('is counted by its headers where the application trusts them', async () => {
    await using broker = await nats();
    const store = new StillStore();
    await using app = await BrokeredApp.start(broker, { store, identity: FROM_HEADERS });
    const sent = headers();
    sent.set('X-User-Id', 'ada');
    expect(await app.send('address', new NatsRecordBuilder({}).setHeaders(sent).build())).toBe('passed');
    expect(store.keys).toEqual([expect.stringContaining('rl:{user:ada}')]);
  });
});
