import { createServer, type Server } from 'node:net';
import { Controller, Get, type INestApplication, Logger, Module } from '@nestjs/common';
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
import { CapturedLogs } from '../support/http-app.js';
import { appModule, IDENTITY, Routes } from './support/limited-app.js';

const ADA = { user: 'ada' };

describe('the store of an application, overridden', () => {
  let redis: Server;
  let url: string;
  let connections: number;
  let app: INestApplication | undefined;
  let logs: CapturedLogs;

  beforeEach(async () => {
    connections = 0;
    redis = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => redis.listen(0, '127.0.0.1', resolve));
    url = `redis://127.0.0.1:${(redis.address() as { port: number }).port}`;
    logs = new CapturedLogs();
  });
  afterEach(async () => {
    await app?.close();
    app = undefined;
    await new Promise((resolve) => redis.close(resolve));
    Logger.overrideLogger(false);
  });

  async function boot(builder: ReturnType<typeof Test.createTestingModule>): Promise<INestApplication> {
    const testingModule = await builder.setLogger(logs).compile();
    app = testingModule.createNestApplication();
    return app.init();
  }

  it('leaves its Redis alone, and its other options in force', async () => {
    const options = {
      redis: url,
      identity: IDENTITY,
      clock: 'app',
      maxSkew: '200ms',
      denialCache: '500ms',
      onStoreStateChange: () => undefined,
      headers: false,
    } as const;
    const clock = new VirtualClock();
    const builder = Test.createTestingModule({ imports: [appModule(options)] });
    expect(overrideRateLimitStore(builder, clock)).toBe(builder);
    const limited = await boot(builder);
    await expectLimit(limited).get('/bucket').as(ADA).toAdmit(20).perSecond(10);
    const { headers } = await expectLimit(limited).get('/bucket').as(ADA).send();
    expect(Object.keys(headers).filter((name) => name.startsWith('x-ratelimit'))).toEqual([]);
    expect(connections).toBe(0);
    expect(logs.text).toContain("Limits are kept in VirtualStore, which overrides the store of the module's options");
  });

  it('records every decision, whatever onDecision samples', async () => {
    let sampled = 0;
    const options = { redis: url, identity: IDENTITY, decisionSampling: 1e-9, onDecision: () => void sampled++ };
    const builder = Test.createTestingModule({ imports: [appModule(options)] });
    const limited = await boot(overrideRateLimitStore(builder, new VirtualClock()));
    const decisions = recordDecisions(limited);
    await expectLimit(limited).get('/window').as(ADA).toAdmit(5);
    expect([decisions.all.length, sampled]).toEqual([6, 0]);
  });

  it('would have connected without the override', async () => {
    await boot(Test.createTestingModule({ imports: [appModule({ redis: url })] })).catch(() => undefined);
    expect(connections).toBeGreaterThan(0);
  });

  it('is overridden by its token as well, with forRootAsync', async () => {
    @Module({
      imports: [RateLimitModule.forRootAsync({ useFactory: async () => ({ redis: url, identity: IDENTITY }) })],
      controllers: [Routes],
    })
    class AppModule {}
    const store = new VirtualStore(new VirtualClock(), { maxKeys: 10 });
    const builder = Test.createTestingModule({ imports: [AppModule] });
    const limited = await boot(builder.overrideProvider(RATE_LIMIT_STORE).useValue(store));
    await expectLimit(limited).get('/window').as(ADA).toAdmit(5).per('1m');
    expect(store.size).toBe(1);
    expect(connections).toBe(0);
  });

  it('is given by forRoot as well', async () => {
    const store = new VirtualStore(new VirtualClock());
    const limited = await boot(Test.createTestingModule({ imports: [appModule({ store, identity: IDENTITY })] }));
    await expectLimit(limited).get('/leaky').as(ADA).toAdmit(4).perSecond(10);
  });

  it('refuses what is no store', () => {
    const builder = Test.createTestingModule({});
    for (const [given, text] of [
      [undefined, 'undefined'],
      [{}, 'an object'],
      ['1m', "'1m'"],
    ] as const) {
      const message = `overrideRateLimitStore: takes a VirtualClock or a RateLimitStore, got ${text}`;
      expect(() => overrideRateLimitStore(builder, given as unknown as VirtualClock)).toThrow(message);
    }
    expect(() => new VirtualStore({} as VirtualClock)).toThrow(
      'VirtualStore: clock must be a VirtualClock, got an object',
    );
  });

  it('limits nothing under withoutLimits, and still sends headers', async () => {
    const limited = await boot(withoutLimits(Test.createTestingModule({ imports: [appModule({ redis: url })] })));
    const decisions = recordDecisions(limited);
    await limited.listen(0, '127.0.0.1');
    for (let i = 0; i < 30; i++) {
      const reply = await fetch(`${await limited.getUrl()}/${i % 2 === 0 ? 'window' : 'leaky'}`);
      expect(reply.status).toBe(200);
      expect(reply.headers.get('x-ratelimit-remaining')).toBe(i % 2 === 0 ? '5' : '3');
    }
    expect(decisions.all).toHaveLength(30);
    expect(connections).toBe(0);
    expect(() => resetLimits(limited)).toThrow(
      'resetLimits: the limits are kept in UnlimitedStore, not in this process',
    );
  });

  it('is empty after resetLimits', async () => {
    const clock = new VirtualClock();
    const limited = await boot(
      overrideRateLimitStore(
        Test.createTestingModule({ imports: [appModule({ redis: url, identity: IDENTITY })] }),
        clock,
      ),
    );
    for (const path of ['window', 'log', 'counter', 'thirds']) {
      const burst = path === 'thirds' ? 2 : 5;
      await expectLimit(limited).get(`/${path}`).as(ADA).toAdmit(burst);
    }
    resetLimits(limited);
    for (const path of ['window', 'log', 'counter']) await expectLimit(limited).get(`/${path}`).as(ADA).toAdmit(5);
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

  it.each(['expectLimit', 'resetLimits', 'recordDecisions'] as const)(
    '%s names an application without the module',
    async (name) => {
      const call = { expectLimit, resetLimits, recordDecisions }[name];
      const testingModule = await Test.createTestingModule({}).compile();
      expect(() => call(testingModule.createNestApplication())).toThrow(
        `${name}: the application has no RateLimitModule`,
      );
      expect(() => call({} as INestApplication)).toThrow(`${name}: takes a Nest application`);
    },
  );

  it('expectLimit names a store without a virtual clock', async () => {
    const testingModule = await Test.createTestingModule({ imports: [appModule({}, [Plain])] })
      .setLogger(new CapturedLogs())
      .compile();
    const app = testingModule.createNestApplication();
    await app.init();
    await expect(expectLimit(app).get('/').toAdmit(5)).rejects.toThrow(
      'expectLimit: the limits are kept in MemoryStore, whose clock the kit cannot move. Use overrideRateLimitStore',
    );
    resetLimits(app); // any MemoryStore
    await app.close();
  });

  it('expectLimit names wrong arguments', async () => {
    const store = new VirtualStore(new VirtualClock());
    const testingModule = await Test.createTestingModule({ imports: [appModule({ store }, [Plain])] })
      .setLogger(new CapturedLogs())
      .compile();
    const app = testingModule.createNestApplication();
    const route = expectLimit(app).get('/');
    expect(() => expectLimit(app, { who: () => ({}) } as object)).toThrow(
      "'who' is not an option; the options are as and clock",
    );
    expect(() => expectLimit(app, { as: 'ada' } as object)).toThrow(
      "as must be a function from an identity to headers, got 'ada'",
    );
    expect(() => expectLimit(app, { clock: 5 } as object)).toThrow('clock must be a VirtualClock, got 5');
    expect(() => expectLimit(app).get('rides')).toThrow("expectLimit, get: takes a path such as '/rides', got 'rides'");
    expect(() => route.toAdmit(1.5)).toThrow(
      'expectLimit, toAdmit: takes a whole number of requests from 0 to 100000, got 1.5',
    );
    for (const wrong of ['ada', {}, { user: 5 }, null, { user: '' }]) {
      expect(() => route.as(wrong as never)).toThrow(
        "expectLimit, as: takes identities by kind such as { user: 'ada' }",
      );
    }
    await expect(route.as({ tenant: 'one' }).send()).rejects.toThrow(
      "expectLimit, as: no header brings an identity of kind 'tenant' (the module's identity reads no headers). Say how your " +
        'application knows it: expectLimit(app, { as: ({ tenant }) => ({ authorization: ... }) })',
    );
    const byUser = expectLimit(app, { as: ({ user }) => ({ 'X-User-Id': user }) }).get('/');
    await expect(byUser.as({ tenant: 'one' }).toAdmit(5)).rejects.toThrow(
      'expectLimit, as: must return texts, got undefined as X-User-Id for an identity of tenant',
    );
    const burst = route.toAdmit(5);
    expect(() => burst.per('60')).toThrow("expectLimit, per: takes milliseconds or text such as '15m', got '60'");
    expect(() => burst.perSecond(0)).toThrow('expectLimit, perSecond: takes a whole number of requests from 1');
    await burst;
    await app.close();
  });
});
