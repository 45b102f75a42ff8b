import { describe, expect, it } from '@jest/globals';
import { migrated, moduleOf, TEN } from '../test-support/migrated.js';

const PACKAGE = '{ "dependencies": { "@nestjs/throttler": "^6.0.0" } }';
const dependencies = (text: string): string[] =>
  Object.keys((JSON.parse(text) as { dependencies: object }).dependencies);

describe('decorators that a barrel file passes on', () => {
  const controller = `import { Strict, Throttle } from '../common';
export class Cats {
  @Throttle({ default: { limit: 3, ttl: 1000 } })
  @Strict()
  list() {}
}
`;
  const rewritten = `import { Strict } from '../common';
import { RateLimit } from 'nestjs-floodgate';
export class Cats {
  @RateLimit({ name: 'default', algorithm: 'sliding-window-log', limit: 3, window: 1000 })
  @Strict()
  list() {}
}
`;

  it.each<[string, Record<string, string>, Record<string, string>]>([
    [
      'with all of the package',
      { 'common/index.ts': `export * from '@nestjs/throttler';\nexport * from './strict';\n` },
      { 'common/index.ts': `export * from './strict';\n` },
    ],
    [
      'by two files',
      {
        'common/index.ts': `export * from './limits';\nexport { Strict, Throttle } from './all';\n`,
        'common/limits.ts': `export * from 'nestjs-floodgate/throttler';\n`,
        'common/all.ts': `export { Throttle } from './limits';\nexport { Strict } from './strict';\n`,
      },
      {
        'common/index.ts': `export * from './limits';\nexport { Strict } from './all';\n`,
        'common/limits.ts': 'export {};\n',
        'common/all.ts': `export { Strict } from './strict';\n`,
      },
    ],
  ])('are rewritten, and the barrel passes them on no more: %s', (_how, before, after) => {
    const { files, printed } = migrated({
      'package.json': PACKAGE,
      'src/app.module.ts': moduleOf(TEN),
      'src/cats.ts': controller,
      'common/strict.ts': 'export const Strict = () => () => {};\n',
      ...before,
    });
    expect(files['src/cats.ts']).toBe(rewritten);
    for (const [name, text] of Object.entries(after)) expect(files[name]).toBe(text);
    expect(dependencies(files['package.json']!)).toEqual(['nestjs-floodgate']);
    expect(printed).toMatch(
      /common\/\w+\.ts:\d {2}this no longer passes on .*what imports it from outside of this folder/,
    );
  });
});

describe('subclasses of the guard in a shared library', () => {
  const SHARED = `import { Injectable } from '@nestjs/common';
import { ThrottlerGuard } from '@nestjs/throttler';

@Injectable()
export class SharedGuard extends ThrottlerGuard {
  protected override async shouldSkip(): Promise<boolean> {
    return false;
  }
}
`;
  const OWN = `import { SharedGuard } from '@app/guards';

export class ApiGuard extends SharedGuard {
  protected override async getTracker(req: Record<string, any>): Promise<string> {
    return req.user.id;
  }

  protected override async handleRequest(): Promise<boolean> {
    return true;
  }
}
`;
  const files = {
    'tsconfig.json': '{ "compilerOptions": { "paths": { "@app/guards": ["./libs/guards/index.ts"] } } }',
    'libs/guards/index.ts': `export * from './shared.guard';\n`,
    'libs/guards/shared.guard.ts': SHARED,
    'src/api.guard.ts': OWN,
    'src/app.module.ts': moduleOf(TEN, 'ApiGuard', `import { ApiGuard } from './api.guard';`),
  };

  it('are rewritten, and so is a guard that extends one of them', () => {
    const after = migrated(files);
    expect(after.files['libs/guards/shared.guard.ts']).toBe(
      SHARED.replace('@nestjs/throttler', 'nestjs-floodgate').replaceAll('ThrottlerGuard', 'RateLimitGuard'),
    );
    const own = after.files['src/api.guard.ts']!;
    expect(own).toContain("import { type BoundPolicy, identityTag } from 'nestjs-floodgate';");
    expect(own).toContain("import { type ExecutionContext } from '@nestjs/common';");
    expect(own).toContain('protected override async identityTag(_policy: BoundPolicy, context: ExecutionContext)');
    expect(own).toContain('  protected async getTracker(req');
    expect(after.printed).toContain(
      'src/api.guard.ts:8  ApiGuard.handleRequest: in place of it stands RateLimiter.consume, or setHeaders and refuse',
    );
    // It is bound for all routes, so the module's own is not.
    expect(after.files['src/app.module.ts']).toContain('guard: false');
    expect(after.files['src/app.module.ts']).toContain('useClass: ApiGuard');
  });
});

describe('forRootAsync with a class', () => {
  const FACTORY = `import { Injectable } from '@nestjs/common';
import { type ThrottlerModuleOptions, ThrottlerOptionsFactory, seconds } from '@nestjs/throttler';
import { ConfigService } from './config.service';

@Injectable()
export class Limits implements ThrottlerOptionsFactory {
  constructor(private readonly config: ConfigService) {}

  createThrottlerOptions(): ThrottlerModuleOptions {
    return {
      throttlers: [
        { name: 'long', limit: 100, ttl: seconds(60) },
        { name: 'short', limit: this.config.limit, ttl: seconds(1) },
      ],
      ipv6SubnetPrefix: 56,
    };
  }
}
`;
  const module = (option: string): string =>
    moduleOf('').replace('forRoot()', `forRootAsync({ imports: [ConfigModule], ${option} })`);

  it('rewrites what the class makes, in its own file', () => {
    const option = 'useClass';
    const { files, printed } = migrated({
      'package.json': PACKAGE,
      'app.module.ts': module(`${option}: Limits`).replace('\n@Module', "import { Limits } from './limits';\n@Module"),
      'limits.ts': FACTORY,
      'cats.ts': `import { Throttle } from '@nestjs/throttler';\nclass Cats {\n  @Throttle({ short: { limit: 2 } })\n  list() {}\n}\n`,
    });
    expect(files['app.module.ts']).toContain(
      `RateLimitModule.forRootAsync({ guard: false, imports: [ConfigModule], ${option}: Limits })`,
    );
    expect(files['app.module.ts']).not.toContain('hrottler');
    expect(files['limits.ts']).toBe(`import { Injectable } from '@nestjs/common';
import { ipIdentity, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { ConfigService } from './config.service';

@Injectable()
export class Limits {
  constructor(private readonly config: ConfigService) {}

  createRateLimitOptions(): RateLimitModuleOptions {
    return {
      policies: {
        short: { algorithm: 'sliding-window-log', limit: this.config.limit, window: '1s' },
        long: { algorithm: 'sliding-window-log', limit: 100, window: '60s' },
      },
      defaults: ['short', 'long'],
      identity: [ipIdentity({ ipv6Prefix: 56 })],
      headers: 'throttler',
    };
  }
}
`);
    expect(files['cats.ts']).toContain("limit: 2, window: '1s' }");
    expect(dependencies(files['package.json']!)).toEqual(['nestjs-floodgate']);
    expect(printed).not.toContain('A person has to decide');
  });
});
