import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import ts from 'typescript';
import { added, type Files } from '../test-support/memory-tree.js';
import { COMMONJS, ESM, FASTIFY, moduleOf } from '../test-support/projects.js';
import { CLIENTS } from './package-file.js';
import { compilerOf } from './typescript.js';

const CHOICES = [
  { client: 'ioredis', identity: 'ip', trustProxy: true },
  { client: 'redis', identity: 'user', trustProxy: true },
  { client: 'none', identity: 'api-key', trustProxy: true },
] as const;
/** Each kind of project, with one of the choices. */
const PROJECTS = [
  ['ES modules', ESM, CHOICES[0]],
  ['CommonJS', COMMONJS, CHOICES[1]],
  ['Fastify', FASTIFY, CHOICES[2]],
] as const;

/** The messages of syntax errors. */
function syntaxErrors(files: Files): string[] {
  return Object.entries(files)
    .filter(([path]) => path.endsWith('.ts'))
    .flatMap(([fileName, text]) => {
      const { diagnostics = [] } = ts.transpileModule(text, { fileName, reportDiagnostics: true });
      return diagnostics.map(({ messageText }) => `${fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
    });
}

/** The root module after a run. */
function moduleAfter(metadata: string, options = {}, sources: Files = {}): string {
  const { files, refused } = added({ ...ESM, 'src/app.module.ts': moduleOf(metadata), ...sources }, options);
  expect([refused, syntaxErrors(files)]).toEqual([undefined, []]);
  return files['src/app.module.ts']!;
}

describe('nest add', () => {
  it.each(PROJECTS)('writes sources that parse, and a second run changes nothing: %s', (_name, files, choices) => {
    const first = added(files, choices);
    const sources = ['src/app.module.ts', 'src/main.ts'];
    const manifest = choices.client === 'none' ? [] : ['package.json'];
    expect(first.changed.toSorted()).toEqual([...manifest, ...sources]);
    expect(syntaxErrors(first.files)).toEqual([]);
    const second = added(first.files, choices);
    expect([second.changed, second.installed, second.warnings]).toEqual([[], [], '']);
    expect(second.info).toBe('src/app.module.ts has RateLimitModule already, and stays as it is.');
  });
});

describe('the command line of Nest', () => {
  const schema = JSON.parse(readFileSync('libs/nest/schematics/nest-add/schema.json', 'utf8')) as object;
  const isTaken = new Ajv({ strict: false }).compile(schema);

  // What it passes on in a monorepo, beside the folder of the project.
  it.each([
    ['--skip-install -p worker', { skipInstall: true, p: 'worker' }],
    ['--client=none --project', { client: 'none', project: true }],
  ])('passes on what it reads itself: %s', (_flags, options) => {
    expect([isTaken({ sourceRoot: 'apps/worker/src', ...options }), isTaken.errors]).toEqual([true, null]);
  });

  it('leaves -s and -d to the command', () => {
    const { installed, info } = added(ESM, { client: 'ioredis', s: true });
    expect(installed).toEqual([]);
    expect(info).toContain('package.json: ioredis ^6.0.0 is a dependency: run npm install.');

    const dry = added({ ...ESM, Procfile: 'web: node dist/main' }, { client: 'ioredis', d: true });
    expect([dry.changed, dry.installed, dry.refused]).toEqual([[], [], undefined]);
    expect(dry.info).toContain('src/app.module.ts: AppModule imports RateLimitModule.');
    expect(dry.info).toContain('src/main.ts: trust proxy is set');
    expect(dry.info).toMatch(/Dry run: no file was written\.$/);
  });
});

describe('the module', () => {
  it('is imported as the choices say', () => {
    expect(moduleAfter('{\n  imports: [],\n}', { client: 'redis', identity: 'user' }))
      .toBe(`import { Module } from '@nestjs/common';
import { ipIdentity, RateLimitModule, type RateLimitRequest } from 'nestjs-floodgate';

@Module({
  imports: [
    RateLimitModule.forRoot({
      redis: process.env.REDIS_URL,
      identity: [
        { kind: 'user', resolve: ({ user }: RateLimitRequest<{ user?: { id: string } }>) => user?.id },
        ipIdentity(),
      ],
    }),
  ],
})
export class AppModule {}
`);
  });

  it.each([
    ['{}', '{ imports: [RateLimitModule.forRoot()] }'],
    ['{\n  controllers: [A],\n}', '{\n  imports: [RateLimitModule.forRoot()],\n  controllers: [A],\n}'],
    ['{ imports: [A] }', '{ imports: [A, RateLimitModule.forRoot()] }'],
    ['{ imports: [A, ...more] }', '{ imports: [A, ...more, RateLimitModule.forRoot()] }'],
    [
      '{\n  imports: [\n    A, // first\n    B, // last\n  ],\n}',
      '{\n  imports: [\n    A, // first\n    B, // last\n    RateLimitModule.forRoot(),\n  ],\n}',
    ],
    ['{ imports: shared }', '{ imports: [...(shared), RateLimitModule.forRoot()] }'],
    ['{ imports: flag ? [A] : [] }', '{ imports: [...(flag ? [A] : []), RateLimitModule.forRoot()] }'],
  ])('stands behind the other imports: %j', (before, after) => {
    expect(moduleAfter(before)).toContain(`@Module(${after})\nexport class`);
  });

  it.each([
    [
      'RateLimitModule',
      "import { RateLimitModule } from 'nestjs-floodgate';\nexport const limits = RateLimitModule.forRootAsync({ useClass: Limits });\n",
    ],
    [
      'RateLimitModule',
      "import * as floodgate from 'nestjs-floodgate';\nexport const limits = floodgate.RateLimitModule\n  .forRoot();\n",
    ],
    [
      'ThrottlerModule',
      "import { ThrottlerModule } from 'nestjs-floodgate/throttler';\nexport const limits = ThrottlerModule.forRoot([]);\n",
    ],
  ])('is not imported a second time beside that of another file: %s, %j', (name, text) => {
    const files = { ...ESM, 'src/core/limits.ts': text };
    const { changed, info } = added(files);
    expect([changed, info]).toEqual([[], `src/core/limits.ts has ${name} already, and stays as it is.`]);
    expect(added(files, { client: 'ioredis' }).info).toContain(
      'stays as it is. Give it redis: process.env.REDIS_URL, so that all processes count together.',
    );
  });

  it.each(["import { RateLimitModule } from './limits.js';\n", 'class RateLimitModule {}\n'])(
    'is not imported over another one of that name: %j',
    (text) => {
      const { changed, refused } = added({ ...ESM, 'src/app.module.ts': text + moduleOf('{}') });
      expect(changed).toEqual([]);
      expect(refused).toContain('Nothing was changed: src/app.module.ts has a RateLimitModule of its own.');
    },
  );
});

describe('the metrics', () => {
  const withDependency = (name: string): Files => ({
    ...ESM,
    'package.json': `{ "dependencies": { "${name}": "*", "redis": "*" } }`,
  });

  it.each([
    ['@opentelemetry/api', "RateLimitMetricsModule.forRoot({ through: 'opentelemetry' })", []],
    ['@opentelemetry/sdk-node', "RateLimitMetricsModule.forRoot({ through: 'opentelemetry' })", ['@opentelemetry/api']],
    ['prom-client', 'RateLimitMetricsModule.forRoot()', []],
  ])('are published through what the application has: %s', (name, text, installs) => {
    const { files, info, installed, changed } = added(withDependency(name), { identity: 'user' });
    expect(files['src/app.module.ts']).toContain(text);
    expect(files['src/app.module.ts']).toContain(
      "import { ipIdentity, RateLimitMetricsModule, RateLimitModule, type RateLimitRequest } from 'nestjs-floodgate';",
    );
    expect(syntaxErrors(files)).toEqual([]);
    expect(info).toContain('AppModule imports RateLimitModule and RateLimitMetricsModule.');
    expect(info).toContain('floodgate/metrics lists them.\n4. Read');
    expect(installed).toEqual(installs.map((one) => expect.objectContaining({ packageName: `"${one}@^1.9.0"` })));
    expect(changed).toContain('src/app.module.ts');
    expect(added(files, { identity: 'user' }).changed).toEqual([]);
  });
});

describe('the client', () => {
  it('is the dependency that is asked for, in its place, and is installed', () => {
    const { files, installed } = added(ESM, { client: 'redis' });
    const { dependencies } = JSON.parse(files['package.json']!) as { dependencies: Record<string, string> };
    expect(Object.keys(dependencies)).toEqual(Object.keys(dependencies).toSorted());
    expect(dependencies['redis']).toBe(CLIENTS.redis);
    expect(installed).toEqual([expect.objectContaining({ command: 'install', packageName: '"redis@^6.0.0"' })]);
  });

  describe('in a version that the package does not take', () => {
    // With a client the command tells, too, that ioredis is installed here.
    const warned = (name: string, version: string): string =>
      added({ ...ESM, 'package.json': `{ "dependencies": { "${name}": "${version}" } }` }, { client: 'none' }).warnings;

    it.each([
      ['redis', '^4.7.0'],
      ['redis', '^7.0.0'],
      ['ioredis', '^4.28.5'],
      ['ioredis', '5.3'],
    ])('is named in one warning: %s %s', (client, version) => {
      const { peerDependencies } = JSON.parse(readFileSync('libs/nest/package.json', 'utf8')) as {
        peerDependencies: Record<string, string>;
      };
      expect(warned(client, version)).toBe(
        `package.json has ${client} ${version}, and nestjs-floodgate needs ${client} ${peerDependencies[client]}. Update it before you start the application.`,
      );
    });
  });

  it.each([
    [{ 'package-lock.json': '' }, 'npm'],
    [{ 'pnpm-lock.yaml': '' }, 'pnpm'],
    [{ 'package-lock.json': '', 'package.json': '{ "packageManager": "pnpm@10.1.0" }' }, 'pnpm'],
    [{}, undefined],
  ])('is installed by the package manager of the project: %j, %s', (more, packageManager) => {
    const { installed } = added({ ...ESM, ...(more as Files) }, { client: 'ioredis' });
    expect(installed).toEqual([expect.objectContaining({ packageManager })]);
  });
});

describe('what it says at the end', () => {
  it('shows the decorator, and where to read', () => {
    const { info } = added(ESM, { client: 'ioredis' });
    expect(info).toContain("import { RateLimit } from 'nestjs-floodgate';");
    expect(info).toContain("@RateLimit({ algorithm: 'token-bucket', capacity: 20, refill: '100/h' })");
    expect(info).toContain('Set REDIS_URL in each process');
    expect(added(ESM, { client: 'none' }).info).toContain('Each process counts for itself.');
  });

  it('links to pages of the site that are there', () => {
    const said = CHOICES.map((choices) => added({ ...ESM, Dockerfile: '' }, { ...choices, trustProxy: undefined }));
    const text = said.map(({ info, warnings }) => info + warnings).join('\n');
    const pages = new Set(
      Array.from(
        text.matchAll(/floodgate-nest\.github\.io\/floodgate\/([\w-]+)(?:#([\w-]+))?/g),
        ([, page, anchor]) => `${page}#${anchor ?? ''}`,
      ),
    );
    expect(pages.size).toBeGreaterThanOrEqual(5);
    for (const one of pages) {
      const [page, anchor] = one.split('#') as [string, string];
      const headings = readFileSync(`docs/${page}.md`, 'utf8')
        .match(/^#+ .*$/gm)!
        .map((heading) =>
          heading
            .replace(/^#+ /, '')
            .toLowerCase()
            .replaceAll(/[^\w -]/g, '')
            .replaceAll(' ', '-'),
        );
      expect(['', ...headings]).toContain(anchor);
    }
  });
});

describe('the compiler', () => {
  /** A folder with these packages, each of one file. */
  function folderOf(packages: Files): string {
    const folder = mkdtempSync(join(tmpdir(), 'compiler-'));
    for (const [name, text] of Object.entries({ 'package.json': '{}', ...packages })) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    return folder;
  }

  it('is that of its @nestjs/cli, beside a TypeScript without an API', () => {
    const packages: Files = {
      'node_modules/typescript/index.js': 'exports.version = "7"',
      'node_modules/@nestjs/cli/package.json': '{}',
      'node_modules/@nestjs/cli/node_modules/typescript/index.js':
        'exports.createSourceFile = () => {}; exports.version = "6"',
    };
    const folder = folderOf(packages);
    try {
      expect(compilerOf(folder)?.version).toBe('6');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
