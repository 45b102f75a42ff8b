import { describe, expect, it } from '@jest/globals';
import { migrated, moduleOf, TEN } from '../test-support/migrated.js';

const PACKAGE = '{ "dependencies": { "@nestjs/throttler": "^6.0.0" } }';
const dependencies = (text: string): string[] =>
  Object.keys((JSON.parse(text) as { dependencies: object }).dependencies);

const CONTROLLER = `import { Strict, Throttle, SkipThrottle as Skip } from '../common';
@Skip()
export class Cats {
  @Throttle({ default: { limit: 3, ttl: 1000 } })
  @Strict()
  list() {}
}
`;
const REWRITTEN = `import { Strict } from '../common';
import { RateLimit, SkipRateLimit } from 'nestjs-floodgate';
@SkipRateLimit()
export class Cats {
  @SkipRateLimit()
  @Strict()
  list() {}
}
`;

describe('decorators that a barrel file passes on', () => {
  const controller = CONTROLLER.replace('@Skip()\n', '').replace(', SkipThrottle as Skip', '');
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
      'by their names',
      {
        'common/index.ts': `export { Strict } from './strict';\nexport { Throttle, SkipThrottle } from '@nestjs/throttler';\n`,
      },
      { 'common/index.ts': `export { Strict } from './strict';\n` },
    ],
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
    [
      'after an import',
      {
        'common/index.ts': `import { Throttle } from '@nestjs/throttler';\nimport { Strict } from './strict';\nexport { Strict, Throttle };\n`,
      },
      { 'common/index.ts': `import { Strict } from './strict';\nexport { Strict };\n` },
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

  it('are found by another name, and on a class', () => {
    const { files } = migrated({
      'src/app.module.ts': moduleOf(TEN),
      'src/cats.ts': CONTROLLER.replace('@Throttle({ default: { limit: 3, ttl: 1000 } })', '@Skip()').replace(
        'Throttle, ',
        '',
      ),
      'common/index.ts': `export const Strict = () => () => {};\nexport { SkipThrottle } from '@nestjs/throttler';\n`,
    });
    expect(files['src/cats.ts']).toBe(REWRITTEN.replace('RateLimit, ', ''));
    expect(files['common/index.ts']).toBe('export const Strict = () => () => {};\n');
  });

  it('are found by a path of tsconfig.json', () => {
    const { files } = migrated({
      'tsconfig.json': '{ "compilerOptions": { "paths": { "@app/common": ["./libs/common/src"] } } }',
      'apps/api/app.module.ts': moduleOf(TEN),
      'apps/api/cats.ts': `import { SkipThrottle } from '@app/common';\n@SkipThrottle()\nexport class Cats {}\n`,
      'libs/common/src/index.ts': `export * from '@nestjs/throttler';\n`,
    });
    expect(files['apps/api/cats.ts']).toBe(
      `import { SkipRateLimit } from 'nestjs-floodgate';\n@SkipRateLimit()\nexport class Cats {}\n`,
    );
  });

  it('also lead to the module, its guard and the durations', () => {
    const common = moduleOf('[{ limit: 10, ttl: seconds(60) }]').replace('@nestjs/throttler', './common.js');
    const { files } = migrated({
      'app.module.ts': common,
      'common.ts': `export * from '@nestjs/throttler';\n`,
    });
    expect(files['app.module.ts']).toBe(migrated({ 'app.module.ts': moduleOf(TEN) }).files['app.module.ts']);
  });

  it('stay with the barrel and the dependency where one cannot be read', () => {
    const before = {
      'src/app.module.ts': moduleOf(TEN),
      'src/cats.ts': controller.replace('{ default: { limit: 3, ttl: 1000 } }', 'load()'),
      'common/index.ts': `import { Throttle } from '@nestjs/throttler';\nexport { Throttle };\nexport const Strict = () => () => {};\n`,
      'package.json': PACKAGE,
    };
    const { files, printed } = migrated(before);
    expect(files['src/cats.ts']).toBe(before['src/cats.ts']);
    expect(files['common/index.ts']).toBe(before['common/index.ts']);
    expect(printed).toContain('common/index.ts:2  this stays: Throttle could not be rewritten everywhere');
    expect(printed).toContain('src/cats.ts:3  @Throttle has no literal argument');
    expect(dependencies(files['package.json']!)).toEqual(['@nestjs/throttler', 'nestjs-floodgate']);
  });

  it('are left to a person as one name, and inside of other decorators', () => {
    const { printed, files } = migrated({
      'app.module.ts': moduleOf(TEN),
      'barrel.ts': `export * as throttler from '@nestjs/throttler';\n`,
      'strict.ts': `import { Throttle } from '@nestjs/throttler';\nexport const Strict = () => applyDecorators(Throttle({ default: { limit: 1 } }));\n`,
    });
    expect(printed).toContain('barrel.ts:1  brings in the whole package');
    expect(printed).toContain(
      'strict.ts:2  Throttle stays: as no decorator it is not rewritten. RateLimit takes its place',
    );
    expect(files['strict.ts']).toContain("from '@nestjs/throttler'");
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

  it('call the tracker of a guard that overrides theirs', () => {
    const tracking = SHARED.replace(
      'async shouldSkip(): Promise<boolean> {\n    return false',
      "async getTracker(): Promise<string> {\n    return 'all'",
    );
    const after = migrated({ ...files, 'libs/guards/shared.guard.ts': tracking });
    expect(after.files['libs/guards/shared.guard.ts']).toContain('override async identityTag(');
    expect(after.files['src/api.guard.ts']).toBe(OWN);
  });

  it('are named where they come from a package', () => {
    const { printed } = migrated({
      'app.module.ts': moduleOf(
        TEN,
        'CompanyThrottlerGuard',
        `import { CompanyThrottlerGuard } from '@company/guards';`,
      ),
    });
    expect(printed).toContain(
      'app.module.ts:7  CompanyThrottlerGuard comes from @company/guards, which is not rewritten: if it extends ThrottlerGuard',
    );
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

  it.each(['useClass', 'useExisting'])('rewrites what the class makes, in its own file: %s', (option) => {
    const { files, printed } = migrated({
      'package.json': PACKAGE,
      'app.module.ts': module(`${option}: Limits`).replace('\n@Module', "import { Limits } from './limits';\n@Module"),
      'limits.ts': FACTORY,
      'cats.ts': `import { Throttle } from '@nestjs/throttler';\nclass Cats {\n  @Throttle({ short: { limit: 2 } })\n  list() {}\n}\n`,
    });
    expect(files['app.module.ts']).toContain(
      `RateLimitModule.forRootAsync({ imports: [ConfigModule], ${option}: Limits })`,
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

  it('keeps other interfaces, promises, and a class that names no types of throttler', () => {
    const typed = FACTORY.replace(
      'implements ThrottlerOptionsFactory',
      'implements OnModuleInit, ThrottlerOptionsFactory',
    ).replace(
      '  createThrottlerOptions(): ThrottlerModuleOptions',
      '  async createThrottlerOptions(): Promise<ThrottlerModuleOptions>',
    );
    const importing = "import { Limits } from './limits';\n@Module";
    const one = migrated({
      'app.module.ts': module('useClass: Limits').replace('@Module', importing),
      'limits.ts': typed,
    });
    expect(one.files['limits.ts']).toContain('class Limits implements OnModuleInit {');
    expect(one.files['limits.ts']).toContain('async createRateLimitOptions(): Promise<RateLimitModuleOptions> {');
    const bare =
      'export class Limits {\n  createThrottlerOptions() {\n    return { throttlers: [{ limit: 1, ttl: 5000 }], ipv6SubnetPrefix: 64 };\n  }\n}\n';
    const other = migrated({
      'app.module.ts': module('useClass: Limits').replace('@Module', importing),
      'limits.ts': bare,
    });
    expect(other.files['limits.ts']).toMatch(/^import \{ ipIdentity \} from 'nestjs-floodgate';\nexport class Limits/);
    expect(other.files['limits.ts']).toContain("default: { algorithm: 'sliding-window-log', limit: 1, window: 5000 }");
  });

  it('reads a class beside the module', () => {
    const text = `${FACTORY}\n${module('useClass: Limits').replace(/^import .*throttler.*$/m, "import { ThrottlerModule, ThrottlerGuard } from '@nestjs/throttler';")}`;
    const { files } = migrated({ 'app.module.ts': text });
    expect(files['app.module.ts']).toContain('createRateLimitOptions(): RateLimitModuleOptions {');
    expect(files['app.module.ts']).toContain('useClass: Limits })');
    expect(files['app.module.ts']).not.toContain('Throttler');
  });

  it('is left alone, with the whole application, where the class is of a package or returns no literal', () => {
    const importing = "import { Limits } from './limits';\n@Module";
    const before = {
      'app.module.ts': module('useClass: Limits').replace('@Module', importing),
      'limits.ts': FACTORY.replace(/return \{[^]*?\n {4}\};/, 'return load();'),
    };
    const { files, printed } = migrated(before);
    expect(files).toEqual(before);
    expect(printed).toMatch(
      /the options do not come from a useFactory, or a class of the application, that returns a literal.*nothing is rewritten/,
    );
    const foreign = migrated({
      'app.module.ts': module('useClass: Limits').replace('@Module', importing.replace('./limits', 'company')),
    });
    expect(foreign.printed).toContain('nothing is rewritten');
  });
});
