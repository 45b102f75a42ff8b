import { Controller } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClientProxyFactory, MessagePattern, type MicroserviceOptions, Transport } from '@nestjs/microservices';
import { firstValueFrom } from 'rxjs';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimitModule } from 'nestjs-floodgate';
import { CapturedLogs } from '../support/http-app.js';
import { useRedis } from '../support/redis-fixture.js';
import { StillStore } from '../support/still-store.js';

const TWENTY = { name: 'twenty', algorithm: 'fixed-window', limit: 20, window: '1h' } as const satisfies Policy;

@Controller()
class Rides {
  @MessagePattern('all')
  @RateLimit({ ...TWENTY, by: 'global' })
  all(): string {
    return 'all';
  }

  @MessagePattern('by address')
  @RateLimit(TWENTY)
  byAddress(): string {
    return 'never';
  }

  @MessagePattern('refused')
  @RateLimit({ ...TWENTY, onMissingIdentity: 'refuse' })
  refused(): string {
    return 'never';
  }
}

describe('messages over Redis', () => {
  const redis = useRedis();

  it('count all together, and are an error where an address would count', async () => {
    const { host, port } = redis.client.options;
    const transport = { transport: Transport.REDIS as const, options: { host: host!, port: port! } };
    const logs = new CapturedLogs();
    const store = new StillStore();
    class Root {}
    const app = await NestFactory.createMicroservice<MicroserviceOptions>(
      { module: Root, imports: [RateLimitModule.forRoot({ store })], controllers: [Rides] },
      { ...transport, logger: logs, abortOnError: false },
    );
    await app.listen();
    const client = ClientProxyFactory.create(transport);
    const send = (pattern: string): Promise<unknown> =>
      firstValueFrom(client.send<unknown>(pattern, { ip: '6.6.6.6' }));
    try {
      for (let i = 0; i < 20; i++) expect(await send('all')).toBe('all');
      await expect(send('all')).rejects.toMatchObject({ statusCode: 429, policy: 'twenty' });
      await expect(send('refused')).rejects.toMatchObject({ statusCode: 401, policy: 'twenty' });
      expect(logs.of('error')).toEqual([]);
      await expect(send('by address')).rejects.toEqual({ status: 'error', message: 'Internal server error' });
      expect(logs.of('error')).toEqual([
        expect.stringContaining(
          "Rides.byAddress: a request of context 'rpc' has no identity that its policy counts, and no address: let the policy " +
            "count by: 'global', or by a function of the context, or choose onMissingIdentity: 'refuse'",
        ),
      ]);
      expect(store.keys).toHaveLength(1);
    } finally {
      await client.close();
      await app.close();
    }
  });
});
