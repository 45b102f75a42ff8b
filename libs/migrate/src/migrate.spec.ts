import { describe, expect, it } from '@jest/globals';
import { migrated, moduleOf, TEN } from '../test-support/migrated.js';
import { migratePackageFile } from './package-file.js';

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

  it('that cannot be read stay, and with them their import and the dependency', () => {
    const { files, printed } = migrated({
      'package.json': '{ "dependencies": { "@nestjs/throttler": "^6.0.0" } }',
      'app.module.ts': moduleOf('[{ limit: 1, ttl: 1000 }]'),
      'a.ts': `import { Throttle } from '@nestjs/throttler';\nclass A {\n  @Throttle(load())\n  get() {}\n}\n`,
    });
    expect(files['a.ts']).toContain('@Throttle(load())');
    expect(printed).toContain('a.ts:3  @Throttle has no literal argument');
    const { dependencies } = JSON.parse(files['package.json']!) as { dependencies: object };
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

it('writes package.json as it was indented, in the order of npm', () => {
  const before = `{\n\t"name": "a",\n\t"dependencies": {\n\t\t"@nest-lab/throttler-storage-redis": "^1.0.0",\n\t\t"@nestjs/throttler": "^6.0.0",\n\t\t"zod": "^4.0.0"\n\t}\n}`;
  const after = `{\n\t"name": "a",\n\t"dependencies": {\n\t\t"nestjs-floodgate": "^1.0.0",\n\t\t"zod": "^4.0.0"\n\t}\n}`;
  expect(migratePackageFile(before, '^1.0.0', false)).toBe(after);
  expect(migratePackageFile(after, '^1.0.0', false)).toBe(after);
});
