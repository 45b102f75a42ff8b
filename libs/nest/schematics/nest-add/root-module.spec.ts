import { describe, expect, it } from '@jest/globals';
import { added, type Files } from '../test-support/memory-tree.js';
import { ESM, moduleOf } from '../test-support/projects.js';

const mainOf = (importing: string, create = 'NestFactory.create(AppModule)'): string =>
  `import { NestFactory } from '@nestjs/core';\n${importing}\nconst app = await ${create};\n`;

/** A project of these sources alone. */
function projectOf(sources: Files): Files {
  const { 'src/main.ts': _main, 'src/app.module.ts': _module, ...rest } = ESM;
  return { ...rest, ...sources };
}

const ROOT = moduleOf('{}');

describe('the root module', () => {
  it.each<[string, Files, string]>([
    ['of a fresh project of ES modules', ESM, 'src/app.module.ts'],
    [
      'beside the application',
      projectOf({ 'src/main.ts': `${mainOf('')}${ROOT.replaceAll(/^import.*\n/gm, '')}` }),
      'src/main.ts',
    ],
    [
      'behind a barrel, under another name',
      projectOf({
        'src/main.ts': mainOf("import { AppModule } from './app/index.js';"),
        'src/app/index.ts':
          "export * from './other.js';\nexport { RootModule as AppModule } from './root.module.js';\n",
        'src/app/other.ts': 'export class Other {}\n',
        'src/app/root.module.ts': ROOT.replace('AppModule', 'RootModule'),
      }),
      'src/app/root.module.ts',
    ],
    [
      'of an application that another file creates',
      projectOf({
        'src/main.ts': "import { start } from './start.js';\nawait start();\n",
        'src/start.ts': mainOf("import { AppModule } from './app.module.js';"),
        'src/app.module.ts': ROOT,
      }),
      'src/app.module.ts',
    ],
    [
      'that entryFile of nest-cli.json leads to',
      projectOf({
        'nest-cli.json': '{ "sourceRoot": "src", "entryFile": "server" }',
        'src/server.ts': mainOf("import { AppModule } from './app.module.js';"),
        'src/jobs.ts': mainOf("import { JobsModule } from './jobs.module.js';", 'NestFactory.create(JobsModule)'),
        'src/app.module.ts': ROOT,
        'src/jobs.module.ts': ROOT.replace('AppModule', 'JobsModule'),
      }),
      'src/app.module.ts',
    ],
  ])('is found: %s', (_what, files, path) => {
    const { changed, files: after, refused } = added(files);
    expect([changed, refused]).toEqual([[path], undefined]);
    expect(after[path]).toContain('imports: [RateLimitModule.forRoot()]');
  });

  it('is that of the project whose folder is given', () => {
    const files = projectOf({
      'nest-cli.json':
        '{ "sourceRoot": "apps/one/src", "projects": { "two": { "sourceRoot": "apps/two/src", "entryFile": "server" } } }',
      'apps/one/src/main.ts': mainOf("import { AppModule } from './app.module.js';"),
      'apps/one/src/app.module.ts': ROOT,
      'apps/two/src/server.ts': mainOf("import { AppModule } from './app.module.js';"),
      'apps/two/src/app.module.ts': ROOT,
    });
    expect(added(files, { sourceRoot: 'apps/one/src' }).changed).toEqual(['apps/one/src/app.module.ts']);
    expect(added(files, { sourceRoot: 'apps/two/src' }).changed).toEqual(['apps/two/src/app.module.ts']);
  });
});

describe('what cannot be edited', () => {
  const IMPORT = "import { AppModule } from './app.module.js';";

  it.each<[string, Files, string]>([
    [
      'a dynamic module',
      projectOf({
        'src/main.ts': mainOf(IMPORT, 'NestFactory.create(AppModule.forRoot({ port: 1 }))'),
        'src/app.module.ts': ROOT,
      }),
      'src/main.ts:3 creates the application from a dynamic module, AppModule.forRoot({ port: 1 })',
    ],
    [
      'a module of a package',
      projectOf({ 'src/main.ts': mainOf("import { AppModule } from 'company-app';") }),
      'the class AppModule, which src/main.ts:3 names, was not found',
    ],
    [
      'options of another object among its own',
      projectOf({ 'src/main.ts': mainOf(IMPORT), 'src/app.module.ts': moduleOf('{ ...shared, controllers: [] }') }),
      'the @Module of src/app.module.ts:3 has ...shared, which may have imports of its own',
    ],
    [
      'a class without a decorator',
      projectOf({ 'src/main.ts': mainOf(IMPORT), 'src/app.module.ts': 'export class AppModule {}\n' }),
      'the class at src/app.module.ts:1 has no @Module',
    ],
    [
      'two applications',
      projectOf({
        'src/one.ts': mainOf("import { One } from './one.module.js';", 'NestFactory.create(One)'),
        'src/two.ts': mainOf("import { Two } from './two.module.js';", 'NestFactory.create(Two)'),
        'src/one.module.ts': ROOT.replace('AppModule', 'One'),
        'src/two.module.ts': ROOT.replace('AppModule', 'Two'),
      }),
      'several root modules were found, One of src/one.module.ts, Two of src/two.module.ts: name the project by --project',
    ],
    [
      'JavaScript',
      projectOf({ 'src/main.js': mainOf(IMPORT), 'src/app.module.js': ROOT }),
      'the sources in src are JavaScript, and this command edits TypeScript only',
    ],
  ])('is said, with what to write by hand, and nothing is changed: %s', (_what, files, why) => {
    const { changed, refused, installed } = added(files, { client: 'ioredis', trustProxy: true });
    expect(refused?.split('\n')[0]).toBe(`Nothing was changed: ${why}. Write this by hand into your root module:`);
    expect(refused).toContain("import { RateLimitModule } from 'nestjs-floodgate';");
    expect(refused).toContain('RateLimitModule.forRoot({ redis: process.env.REDIS_URL }),');
    expect(refused).toContain('npm install ioredis');
    expect([changed, installed]).toEqual([[], []]);
  });

  it('is a folder without package.json', () => {
    expect(added({}).refused).toBe('There is no package.json here: run nest add in the folder of the application');
  });
});
