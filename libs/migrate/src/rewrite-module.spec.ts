import { describe, expect, it } from '@jest/globals';
import { migrated, moduleOf, TEN } from '../test-support/migrated.js';

describe('forRoot', () => {
  it('becomes RateLimitModule.forRoot, and the guard stays where it was', () => {
    const { files } = migrated({ 'app.module.ts': moduleOf(TEN) });
    expect(files['app.module.ts']).toBe(`import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { RateLimitGuard, RateLimitModule } from 'nestjs-floodgate';

@Module({
  imports: [RateLimitModule.forRoot({
    guard: false,
    policies: {
      default: { algorithm: 'sliding-window-log', limit: 10, window: '60s' },
    },
    defaults: ['default'],
    headers: 'throttler',
  })],
  providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
})
export class AppModule {}
`);
  });

  // The module's own guard runs behind those of the module that imports it: a request that authentication rejects would be free.
  it('keeps the guard before those that stood behind it', () => {
    const bound = moduleOf(TEN).replace(
      'useClass: ThrottlerGuard }',
      'useClass: ThrottlerGuard }, { provide: APP_GUARD, useClass: JwtAuthGuard }',
    );
    const { files } = migrated({ 'app.module.ts': bound });
    expect(files['app.module.ts']).toContain(
      '[{ provide: APP_GUARD, useClass: RateLimitGuard }, { provide: APP_GUARD, useClass: JwtAuthGuard }]',
    );
    expect(files['app.module.ts']).toContain('guard: false');
  });

  it('keeps double quotes, missing semicolons, other imports and the rest of the text', () => {
    const { files } = migrated({
      'app.module.ts': `import { Module } from "@nestjs/common"
import { ThrottlerModule, ThrottlerException } from "@nestjs/throttler"

@Module({ imports: [ThrottlerModule.forRoot([{ limit: 1, ttl: 500 }])] })
export class AppModule   { /* odd   spaces */ }
throw new ThrottlerException()
`,
    });
    expect(files['app.module.ts']).toContain(`import { ThrottlerException } from "@nestjs/throttler"
import { RateLimitModule } from "nestjs-floodgate"
`);
    expect(files['app.module.ts']).toContain('export class AppModule   { /* odd   spaces */ }');
    expect(files['app.module.ts']).toContain("limit: 1, window: '500ms'");
    // Nothing bound the guard for all routes.
    expect(files['app.module.ts']).toContain('guard: false');
  });

  it('takes redis from a ThrottlerStorageRedisService, and names other storages', () => {
    const redis = `{ throttlers: ${TEN}, storage: new ThrottlerStorageRedisService(process.env.REDIS_URL) }`;
    const importing = `import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';`;
    const { files, printed } = migrated({ 'app.module.ts': moduleOf(redis, 'ThrottlerGuard', importing) });
    expect(files['app.module.ts']).toContain('redis: process.env.REDIS_URL,');
    expect(files['app.module.ts']).not.toMatch(/throttler-storage|@nestjs\/throttler|ThrottlerStorage/);
    expect(printed).not.toContain('A person has to decide');
    const own = migrated({ 'app.module.ts': moduleOf(`{ throttlers: ${TEN}, storage: new OwnStorage() }`) });
    expect(own.printed).toContain('app.module.ts:6  storage is dropped: give redis');
  });

  it('carries the bits of an address over', () => {
    const bits = migrated({ 'app.module.ts': moduleOf(`{ throttlers: ${TEN}, ipv6SubnetPrefix: 56 }`) });
    expect(bits.files['app.module.ts']).toContain('identity: [ipIdentity({ ipv6Prefix: 56 })]');
    expect(bits.files['app.module.ts']).toContain(
      `import { ipIdentity, RateLimitGuard, RateLimitModule } from 'nestjs-floodgate';`,
    );
  });

  it.each([
    ['(req) => req.user.id', '(req: Record<string, any>) => req.user.id'],
    ['async req => req.user.id', 'async (req: Record<string, any>) => req.user.id'],
    ['(req, context) => of(req, context)', '(req: Record<string, any>, context) => of(req, context)'],
    ['trackers.user', '(request: Record<string, any>, context) => trackers.user(request, context)'],
  ])('the tracker %s becomes the resolver %s', (getTracker, resolve) => {
    const { files } = migrated({ 'app.module.ts': moduleOf(`{ throttlers: ${TEN}, getTracker: ${getTracker} }`) });
    expect(files['app.module.ts']).toContain(`identity: [{ kind: 'tracker', resolve: ${resolve} }]`);
  });

  it.each([
    ['skipIf: () => true', 'skipIf: () => true'],
    ['skipIf: (context) => isJob(context)', 'skipIf: (_, context) => isJob(context)'],
    ['skipIf: function (context) { return true; }', 'skipIf: function (_, context) { return true; }'],
    ['skipIf: (context) => _.some(list, [context])', 'skipIf: (_request, context) => _.some(list, [context])'],
    ['skipIf: _.negate(isJob)', 'skipIf: (_request, context) => _.negate(isJob)(context)'],
    ['getTracker: () => "all"', `by: async () => ({ kind: 'tracker', value: await (() => "all")() })`],
    [
      'generateKey: (_context, tracker) => tracker',
      `by: async (request: Record<string, any>, context) => ({ kind: 'key-of-app', value: ((_context, tracker) => tracker)(context, request.ip) })`,
    ],
    [
      'generateKey: (_context, tracker) => tracker, getTracker: (req) => req.user',
      `by: async (request: Record<string, any>, context) => ({ kind: 'key-of-app', value: ((_context, tracker) => tracker)(context, await ((req) => req.user)(request)) })`,
    ],
  ])('a throttler with %s becomes a policy with %s', (given, expected) => {
    const { files } = migrated({ 'app.module.ts': moduleOf(`[{ limit: 10, ttl: 1000, ${given} }]`) });
    expect(files['app.module.ts']).toContain(`${expected} },`);
  });

  it('a limit that is a function becomes a function that chooses a policy', () => {
    const { files } = migrated({ 'app.module.ts': moduleOf(`[{ limit: (context) => limitOf(context), ttl: 1000 }]`) });
    expect(files['app.module.ts']).toContain(
      `defaults: [async (_, context) => ({ name: 'default', algorithm: 'sliding-window-log', limit: await ((context) => limitOf(context))(context), window: 1000 })]`,
    );
    const plain = migrated({ 'app.module.ts': moduleOf(`[{ limit: () => 3, ttl: 1000 }]`) });
    expect(plain.files['app.module.ts']).toContain('defaults: [async () => (');
  });

  it.each([
    ['', "headers: 'throttler',"],
    [', setHeaders: false', 'headers: false,'],
    [", setHeaders: process.env.QUIET !== '1'", "headers: (process.env.QUIET !== '1') ? 'throttler' : false,"],
  ])("keeps throttler's headers: with %j it has %s", (option, expected) => {
    const { files } = migrated({ 'app.module.ts': moduleOf(`{ throttlers: ${TEN}${option} }`) });
    expect(files['app.module.ts']!.match(/headers: .*/g)).toEqual([expected]);
  });

  it('has the policies in the order in which ThrottlerGuard asked: by their ttl', () => {
    const day = 'const DAY = 86_400_000;';
    const throttlers = `[
    { name: 'day', limit: 9, ttl: DAY },
    { name: 'burst', limit: 2, ttl: 1500 },
    { name: 'minute', limit: 3, ttl: seconds(60) },
    { name: 'same', limit: 4, ttl: 60_000 },
  ]`;
    const { files } = migrated({ 'app.module.ts': moduleOf(throttlers, 'ThrottlerGuard', day) });
    expect(files['app.module.ts']).toContain("defaults: ['burst', 'minute', 'same', 'day']");
    const unknown = migrated({ 'app.module.ts': moduleOf(throttlers.replace('1500', 'Number(process.env.TTL)')) });
    expect(unknown.files['app.module.ts']).toContain("defaults: ['day', 'burst', 'minute', 'same']");
  });

  it.each([
    ['500', 'blockDuration 500 is shorter than its ttl 1000: it is left out'],
    ['async () => 5000', 'blockDuration is a function: it is left out'],
  ])('blockDuration %s is left out, and listed', (given, expected) => {
    const { files, printed } = migrated({
      'app.module.ts': moduleOf(`[{ limit: 10, ttl: 1000, blockDuration: ${given} }]`),
    });
    expect(files['app.module.ts']).not.toContain('blockFor');
    expect(printed).toContain(`app.module.ts:6  ${expected}`);
  });

  it('is left alone, with the whole application, when the names of the throttlers are unknown', () => {
    const before = {
      'app.module.ts': moduleOf('loadThrottlers()'),
      'a.controller.ts': `import { SkipThrottle } from '@nestjs/throttler';\n@SkipThrottle()\nexport class A {}\n`,
    };
    const { files, printed } = migrated(before);
    expect(files).toEqual(before);
    expect(printed).toMatch(/app.module.ts:6 {2}the options are not a literal.*nothing is rewritten/);
  });
});

describe('forRootAsync', () => {
  it('keeps its factory, and what it returns becomes policies', () => {
    const { files } = migrated({
      'app.module.ts': `import { Module } from '@nestjs/common';
import { ThrottlerModule, ThrottlerGuard } from '@nestjs/throttler';

@Module({
  imports: [
    ThrottlerModule.forRootAsync({
      inject: [ConfigService],
      useFactory: (config: ConfigService) => ({
        throttlers: [{ name: 'short', limit: config.getOrThrow('LIMIT'), ttl: config.getOrThrow('TTL') }],
      }),
    }),
  ],
})
export class AppModule {}

@UseGuards(ThrottlerGuard)
export class Cats {}
`,
    });
    expect(files['app.module.ts']).toContain(`    RateLimitModule.forRootAsync({ guard: false,
      inject: [ConfigService],
      useFactory: (config: ConfigService) => ({`);
    expect(files['app.module.ts']).toContain(
      `short: { algorithm: 'sliding-window-log', limit: config.getOrThrow('LIMIT'), window: config.getOrThrow('TTL') },`,
    );
    expect(files['app.module.ts']).toContain('@UseGuards(RateLimitGuard)');
  });

  it.each([
    ['() => [{ limit: 5, ttl: 1000 }]', '() => ({', '})'],
    ['async () => [{ limit: 5, ttl: 1000 }] as ThrottlerModuleOptions', 'async () => ({', '}) as'],
    ['() => ([{ limit: 5, ttl: 1000 }])', '() => ({', '})'],
    ['() => { return [{ limit: 5, ttl: 1000 }]; }', '() => { return {', '}; }'],
    ['function () { return [{ limit: 5, ttl: 1000 }]; }', 'function () { return {', '}; }'],
  ])('takes a list from the factory %s', (factory, opens, closes) => {
    const { files, printed } = migrated({
      'app.module.ts': `import { ThrottlerModule } from '@nestjs/throttler';
export const imports = [ThrottlerModule.forRootAsync({ useFactory: ${factory} })];
`,
    });
    expect(printed).not.toContain('would not parse');
    expect(files['app.module.ts']).toContain(`useFactory: ${opens}\n  policies: {`);
    expect(files['app.module.ts']).toContain(`  headers: 'throttler',\n${closes}`);
  });

  it('leaves an option that a decorator in another file needs to a person, and to the boot', () => {
    const { files, printed } = migrated({
      'app.module.ts': `import { ThrottlerModule } from '@nestjs/throttler';
export const imports = [ThrottlerModule.forRootAsync({ useFactory: (config) => [{ limit: 5, ttl: config.ttl }] })];
`,
      'a.controller.ts': `import { Throttle } from '@nestjs/throttler';
@Throttle({ default: { limit: 3 } })
export class A {}
`,
    });
    expect(files['a.controller.ts']).toContain(
      `@RateLimit({ name: 'default', algorithm: 'sliding-window-log', limit: 3, window: '?', scope: 'route' })`,
    );
    expect(printed).toContain('a.controller.ts:2  ttl of the module, config.ttl, is out of reach here: write it down');
  });
});
