import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { migratePackageFile } from './package-file.js';
import { run } from './run.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'migrate-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Migrates files; answers with what they are then, and with what was printed. */
function migrated(files: Readonly<Record<string, string>>): { files: Record<string, string>; printed: string } {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const lines: string[] = [];
  run({ folder, dryRun: false, version: '^1.0.0', print: (line) => lines.push(line) });
  const after = Object.keys(files).map((name) => [name, readFileSync(join(folder, name), 'utf8')] as const);
  return { files: Object.fromEntries(after), printed: lines.join('\n') };
}

/** A module with a guard for all routes. */
const moduleOf = (
  options: string,
  guard = 'ThrottlerGuard',
  more = '',
): string => `import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule, seconds } from '@nestjs/throttler';
${more}
@Module({
  imports: [ThrottlerModule.forRoot(${options})],
  providers: [{ provide: APP_GUARD, useClass: ${guard} }],
})
export class AppModule {}
`;

const TEN = '[{ limit: 10, ttl: seconds(60) }]';

describe('forRoot', () => {
  it('becomes RateLimitModule.forRoot, whose guard needs no provider', () => {
    const { files } = migrated({ 'app.module.ts': moduleOf(TEN) });
    expect(files['app.module.ts']).toBe(`import { Module } from '@nestjs/common';
import { RateLimitModule } from 'nestjs-floodgate';

@Module({
  imports: [RateLimitModule.forRoot({
    policies: {
      default: { algorithm: 'sliding-window-log', limit: 10, window: '60s' },
    },
    defaults: ['default'],
    headers: 'throttler',
  })],
  providers: [],
})
export class AppModule {}
`);
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

  it('carries the tracker and the bits of an address over', () => {
    const tracker = `{ throttlers: ${TEN}, getTracker: (req) => req.user.id }`;
    const { files } = migrated({ 'app.module.ts': moduleOf(tracker) });
    expect(files['app.module.ts']).toContain(
      `identity: [{ kind: 'tracker', resolve: (context) => ((req) => req.user.id)(context.switchToHttp().getRequest()) }]`,
    );
    const bits = migrated({ 'app.module.ts': moduleOf(`{ throttlers: ${TEN}, ipv6SubnetPrefix: 56 }`) });
    expect(bits.files['app.module.ts']).toContain('identity: [ipIdentity({ ipv6Prefix: 56 })]');
    expect(bits.files['app.module.ts']).toContain(`import { ipIdentity, RateLimitModule } from 'nestjs-floodgate';`);
  });

  it.each([
    ['', "headers: 'throttler',"],
    [', setHeaders: true', "headers: 'throttler',"],
    [', setHeaders: false', 'headers: false,'],
    [', setHeaders: (false as boolean)', 'headers: false,'],
    [", setHeaders: process.env.QUIET !== '1'", "headers: (process.env.QUIET !== '1') ? 'throttler' : false,"],
    [', setHeaders', "headers: (setHeaders) ? 'throttler' : false,"],
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

  it('names what has no counterpart', () => {
    const { printed } = migrated({
      'app.module.ts': moduleOf(`{
    throttlers: [{ limit: 10, ttl: 1000, blockDuration: 5000, setHeaders: false, ignoreUserAgents: [/x/] }],
    errorMessage: 'slow down',
    generateKey: (context, tracker) => tracker,
  }`),
    });
    expect(printed).toContain('app.module.ts:7  blockDuration 5000 has no counterpart');
    expect(printed).toContain("app.module.ts:7  setHeaders of 'default'");
    expect(printed).toContain("app.module.ts:7  ignoreUserAgents of 'default'");
    expect(printed).toContain('app.module.ts:8  errorMessage has no counterpart');
    expect(printed).toContain('app.module.ts:9  generateKey of the module is dropped');
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

describe('decorators', () => {
  const rewritten = (throttlers: string, source: string) =>
    migrated({
      'app.module.ts': moduleOf(throttlers),
      'a.ts': `import { SkipThrottle, Throttle } from '@nestjs/throttler';\n${source}`,
    });

  it.each([
    ['@SkipThrottle()', '[{ limit: 1, ttl: 1000 }]', '@SkipRateLimit()'],
    ['@SkipThrottle()', "[{ limit: 1, ttl: 1000 }, { name: 'long', limit: 9, ttl: 9000 }]", "@RateLimit('long')"],
    [
      '@SkipThrottle({ long: true })',
      "[{ limit: 1, ttl: 1000 }, { name: 'long', limit: 9, ttl: 9000 }]",
      "@RateLimit('default')",
    ],
    [
      "@SkipThrottle({ 'long': true, default: true })",
      "[{ limit: 1, ttl: 1000 }, { name: 'long', limit: 9, ttl: 9000 }]",
      '@SkipRateLimit()',
    ],
  ])('%s of %s becomes %s', (decorator, throttlers, expected) => {
    expect(rewritten(throttlers, `class A {\n  ${decorator}\n  get() {}\n}\n`).files['a.ts']).toContain(
      `class A {\n  ${expected}\n  get() {}`,
    );
  });

  it('that skipped nothing are gone', () => {
    const { files, printed } = rewritten(
      "[{ name: 'long', limit: 9, ttl: 9000 }]",
      'class A {\n  @SkipThrottle()\n  get() {}\n}\n',
    );
    expect(files['a.ts']).toBe('class A {\n  get() {}\n}\n');
    expect(printed).toContain("a.ts:3  there is no throttler 'default', so this had no effect, and is gone");
  });

  it('of a class and a method are one on the method, and their constants are followed', () => {
    const { files } = rewritten(
      '[{ limit: 1, ttl: 1000 }]',
      `const STRICT = { default: { ttl: 7000 } };
@Throttle({ default: { limit: 5 } })
class A {
  @Throttle(STRICT)
  get() {}
}
`,
    );
    expect(files['a.ts']).toContain(
      `@RateLimit({ name: 'default', algorithm: 'sliding-window-log', limit: 5, window: 7000 })\n  get`,
    );
  });

  it('that cannot be read stay, and with them their import and the dependency', () => {
    writeFileSync(join(folder, 'package.json'), '{ "dependencies": { "@nestjs/throttler": "^6.0.0" } }');
    const { files, printed } = rewritten(
      '[{ limit: 1, ttl: 1000 }]',
      'class A {\n  @Throttle(load())\n  get() {}\n}\n',
    );
    expect(files['a.ts']).toContain('@Throttle(load())');
    expect(printed).toContain('a.ts:3  @Throttle has no literal argument');
    const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { dependencies: object };
    expect(Object.keys(dependencies)).toEqual(['@nestjs/throttler', 'nestjs-floodgate']);
  });
});

describe('guards', () => {
  it('of the application keep their tracker, and name the steps that are others', () => {
    const { files, printed } = migrated({
      'app.module.ts': moduleOf(TEN, 'OwnGuard', `import { OwnGuard } from './own.guard';`),
      'own.guard.ts': `import { Injectable } from '@nestjs/common';
import { ThrottlerGuard } from '@nestjs/throttler';

@Injectable()
export class OwnGuard extends ThrottlerGuard {
  protected override async getTracker(req: Record<string, any>): Promise<string> {
    return req.user.id;
  }

  protected async throwThrottlingException(): Promise<void> {
    throw new Error('no');
  }
}
`,
    });
    expect(files['own.guard.ts']).toContain(`export class OwnGuard extends RateLimitGuard {
  protected override async identityTag(_policy: BoundPolicy, context: ExecutionContext): Promise<string> {
    return identityTag({ kind: 'tracker', value: await this.getTracker(context.switchToHttp().getRequest()) });
  }

  protected async getTracker(req: Record<string, any>): Promise<string> {`);
    expect(files['own.guard.ts']).toContain(
      `import { type BoundPolicy, identityTag, RateLimitGuard } from 'nestjs-floodgate';`,
    );
    expect(printed).toContain(
      'own.guard.ts:10  OwnGuard.throwThrottlingException: in place of it stands refuse(context, decision)',
    );
    // The application binds it still.
    expect(files['app.module.ts']).toContain('{ provide: APP_GUARD, useClass: OwnGuard }');
    expect(files['app.module.ts']).toContain('guard: false');
  });
});

it('rewrites CommonJS, and leaves a namespace to a person', () => {
  const { files, printed } = migrated({
    'app.module.js': `const { ThrottlerModule, ThrottlerGuard: Guard } = require('@nestjs/throttler');
exports.imports = [ThrottlerModule.forRoot([{ limit: 5, ttl: 60000 }])];
exports.guards = [Guard];
`,
    'other.js': `const throttler = require('@nestjs/throttler');\n`,
  });
  expect(files['app.module.js']).toContain(`const { RateLimitGuard, RateLimitModule } = require('nestjs-floodgate');`);
  expect(files['app.module.js']).toContain('exports.guards = [RateLimitGuard];');
  expect(printed).toContain('other.js:1  brings in the whole package');
});

it('leaves tests with throttlers of their own to a person, and guards that are made with new', () => {
  writeFileSync(join(folder, 'package.json'), '{ "dependencies": { "@nestjs/throttler": "^6.0.0" } }');
  const test = `import { ThrottlerModule } from '@nestjs/throttler';\nThrottlerModule.forRoot([{ limit: 1, ttl: 1 }]);\n`;
  const { files, printed } = migrated({
    'app.module.ts': moduleOf(TEN),
    'app.e2e-spec.ts': test,
    'main.ts': `import { ThrottlerGuard } from '@nestjs/throttler';\napp.useGlobalGuards(new ThrottlerGuard(a, b, c));\n`,
  });
  expect(files['app.module.ts']).toContain('RateLimitModule.forRoot');
  expect(files['app.e2e-spec.ts']).toBe(test);
  expect(printed).toContain('app.e2e-spec.ts:2  a test with throttlers of its own stays as it is');
  expect(printed).toContain('main.ts:2  a RateLimitGuard cannot be made with new');
  expect(readFileSync(join(folder, 'package.json'), 'utf8')).toContain('@nestjs/throttler');
});

it('goes on from a switch by import', () => {
  const { files } = migrated({
    'app.module.ts': moduleOf(TEN).replace('@nestjs/throttler', 'nestjs-floodgate/throttler'),
  });
  expect(files['app.module.ts']).toContain(`import { RateLimitModule } from 'nestjs-floodgate';`);
});

it('writes package.json as it was indented, in the order of npm', () => {
  const before = `{\n\t"name": "a",\n\t"dependencies": {\n\t\t"@nest-lab/throttler-storage-redis": "^1.0.0",\n\t\t"@nestjs/throttler": "^6.0.0",\n\t\t"zod": "^4.0.0"\n\t}\n}`;
  const after = `{\n\t"name": "a",\n\t"dependencies": {\n\t\t"nestjs-floodgate": "^1.0.0",\n\t\t"zod": "^4.0.0"\n\t}\n}`;
  expect(migratePackageFile(before, '^1.0.0', false)).toBe(after);
  expect(migratePackageFile(after, '^1.0.0', false)).toBe(after);
});
