import { createServer, type Server } from 'node:net';
import { ConsoleLogger, Controller, Get, type INestApplication, Logger, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule } from 'nestjs-floodgate';
import {
  expectLimit,
  overrideRateLimitStore,
  RATE_LIMIT_STORE,
  recordDecisions,
  resetLimits,
  VirtualClock,
  VirtualStore,
  withoutLimits,
} from 'nestjs-floodgate/testing';
import { FROM_HEADERS, CapturedLogs } from '../support/http-app.js';
import { appModule, Routes } from './support/limited-app.js';

const ADA = { user: 'ada' };

let app: INestApplication | undefined;
let logs: CapturedLogs;

beforeEach(() => {
  logs = new CapturedLogs();
});
afterEach(async () => {
  await app?.close();
  app = undefined;
  Logger.overrideLogger(new ConsoleLogger()); // a testing module overrides it
});

async function boot(builder: ReturnType<typeof Test.createTestingModule>): Promise<INestApplication> {
  const testingModule = await builder.setLogger(logs).compile();
  app = testingModule.createNestApplication();
  return app.init();
}

describe('the store of an application, overridden', () => {
  let redis: Server;
  let url: string;
  let connections: number;

  beforeEach(async () => {
    connections = 0;
    redis = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => redis.listen(0, '127.0.0.1', resolve));
    url = `redis://127.0.0.1:${(redis.address() as { port: number }).port}`;
  });
  afterEach(() => new Promise<void>((resolve) => redis.close(() => resolve())));

  it('leaves its Redis alone, and its other options in force', async () => {
    const options = { redis: url, identity: FROM_HEADERS, clock: 'app', denialCache: '500ms', headers: false } as const;
    const builder = Test.createTestingModule({ imports: [appModule(options)] });
    expect(overrideRateLimitStore(builder, new VirtualClock())).toBe(builder);
    const limited = await boot(builder);
    await expectLimit(limited).get('/bucket').as(ADA).toAdmit(20).perSecond(10);
    const { headers } = await expectLimit(limited).get('/bucket').as(ADA).send();
    expect(Object.keys(headers).filter((name) => name.startsWith('x-ratelimit'))).toEqual([]);
    expect(connections).toBe(0);
    expect(logs.text).toContain('Limits are kept in VirtualStore, which overrides the store of the options');
  });

  it('records every decision beside onDecision', async () => {
    let told = 0;
    const options = { redis: url, identity: FROM_HEADERS, onDecision: () => void told++ };
    const builder = Test.createTestingModule({ imports: [appModule(options)] });
    const limited = await boot(overrideRateLimitStore(builder, new VirtualClock()));
    const decisions = recordDecisions(limited);
    await expectLimit(limited).get('/window').as(ADA).toAdmit(5);
    expect([decisions.all.length, told]).toEqual([6, 6]);
  });

  it('would have connected without the override', async () => {
    await boot(Test.createTestingModule({ imports: [appModule({ redis: url })] })).catch(() => undefined);
    expect(connections).toBeGreaterThan(0);
  });

  it('is overridden by its token as well, with forRootAsync', async () => {
    @Module({
      imports: [RateLimitModule.forRootAsync({ useFactory: async () => ({ redis: url, identity: FROM_HEADERS }) })],
      controllers: [Routes],
    })
    class AppModule {}
    const store = new VirtualStore(new VirtualClock());
    const builder = Test.createTestingModule({ imports: [AppModule] });
    const limited = await boot(builder.overrideProvider(RATE_LIMIT_STORE).useValue(store));
    await expectLimit(limited).get('/window').as(ADA).toAdmit(5).per('1m');
    expect([store.size, connections]).toEqual([1, 0]);
  });

  it('limits nothing under withoutLimits, and still sends headers', async () => {
    const limited = await boot(withoutLimits(Test.createTestingModule({ imports: [appModule({ redis: url })] })));
    await limited.listen(0, '127.0.0.1');
    for (let i = 0; i < 10; i++) {
      const reply = await fetch(`${await limited.getUrl()}/window`);
      expect([reply.status, reply.headers.get('x-ratelimit-remaining')]).toEqual([200, '5']);
    }
    expect(connections).toBe(0);
    expect(() => resetLimits(limited)).toThrow(
      'resetLimits: the limits are kept in UnlimitedStore, not in this process',
    );
  });

  it('is empty after resetLimits', async () => {
    const builder = Test.createTestingModule({ imports: [appModule({ redis: url, identity: FROM_HEADERS })] });
    const limited = await boot(overrideRateLimitStore(builder, new VirtualClock()));
    await expectLimit(limited).get('/window').as(ADA).toAdmit(5);
    resetLimits(limited);
    await expectLimit(limited).get('/window').as(ADA).toAdmit(5);
  });
});

describe('the kit, used wrongly', () => {
  @Controller()
  class Plain {
    @Get()
    @RateLimit({ algorithm: 'fixed-window', limit: 5, window: '1m' })
    root(): string {
      return 'ok';
    }
  }

  it.each([undefined, {}])('overrideRateLimitStore names what is no store: %j', (given) => {
    expect(() => overrideRateLimitStore(Test.createTestingModule({}), given as never)).toThrow(
      'overrideRateLimitStore: takes a VirtualClock or a RateLimitStore, got ',
    );
  });

  it.each(Object.entries({ expectLimit, resetLimits, recordDecisions }))(
    '%s names an application without the module',
    async (name, call) => {
      const testingModule = await Test.createTestingModule({}).compile();
      expect(() => call(testingModule.createNestApplication())).toThrow(
        `${name}: the application has no RateLimitModule`,
      );
      expect(() => call({} as INestApplication)).toThrow(`${name}: takes a Nest application`);
    },
  );

  it('expectLimit names a store without a virtual clock', async () => {
    const limited = await boot(Test.createTestingModule({ imports: [appModule({}, [Plain])] }));
    await expect(expectLimit(limited).get('/').toAdmit(5)).rejects.toThrow(
      'expectLimit: the limits are kept in MemoryStore, whose clock the kit cannot move. Use overrideRateLimitStore',
    );
    resetLimits(limited); // any MemoryStore
  });
});
