import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { added, type Files } from '../test-support/memory-tree.js';
import { ESM, MANIFEST } from '../test-support/projects.js';

const folders: string[] = [];

/** A folder with these files. The compiler is that of this repository. */
function folderOf(files: Files): string {
  const folder = mkdtempSync(join(tmpdir(), 'nest-add-'));
  folders.push(folder);
  const typescript = `module.exports = require(${JSON.stringify(join(process.cwd(), 'node_modules/typescript'))});`;
  for (const [name, text] of Object.entries({ 'node_modules/typescript/index.js': typescript, ...files })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const dependencies = (more: object): string =>
  JSON.stringify({ dependencies: { '@nestjs/core': '^12.0.1', ...more }, devDependencies: {} }, null, 2);

describe('files', () => {
  const crlf = (files: Files): Files =>
    Object.fromEntries(Object.entries(files).map(([name, text]) => [name, text.replaceAll('\n', '\r\n')]));
  const CHOICES = { client: 'ioredis', identity: 'user', trustProxy: true } as const;

  it('keep their line ends', () => {
    expect(added(crlf(ESM), CHOICES).files).toEqual(crlf(added(ESM, CHOICES).files));
  });

  it('keep their byte order mark', () => {
    const marked = (files: Files): Files =>
      Object.fromEntries(Object.entries(files).map(([name, text]) => [name, `\uFEFF${text}`]));
    expect(added(marked(ESM), CHOICES)).toMatchObject({
      files: marked(added(ESM, CHOICES).files),
      refused: undefined,
    });
  });

  it.each([['Latin-1', Buffer.from(`// Grüße\n${ESM['src/app.module.ts']}`, 'latin1')]])(
    'in %s are a refusal that names them',
    (_encoding, module) => {
      const { changed, installed, refused } = added({ ...ESM, 'src/app.module.ts': module }, CHOICES);
      expect(refused).toBe('Nothing was changed: src/app.module.ts is not UTF-8. Save it as UTF-8, then run again.');
      expect([changed, installed]).toEqual([[], []]);
    },
  );

  it('that cannot be written are a refusal that names them', () => {
    if (process.getuid?.() === 0) return; // root may write every file
    const folder = folderOf(ESM);
    chmodSync(join(folder, 'package.json'), 0o444);
    const { changed, refused } = added(ESM, CHOICES, folder);
    expect(refused).toBe('Nothing was changed: package.json cannot be written. Allow that, then run again.');
    expect(changed).toEqual([]);
  });

  it("are formatted by the project's own formatter, where they were before", () => {
    const prettier = `if (process.argv[2] !== '--stdin-filepath') process.exit(1);
process.stdout.write(require('node:fs').readFileSync(0, 'utf8').replaceAll('forRoot()', 'forRoot(/* ' + process.argv[3] + ' */)'));`;
    const files: Files = {
      ...ESM,
      'package.json': JSON.stringify({ devDependencies: { prettier: '*' } }),
    };
    const folder = folderOf({
      'package.json': '{}',
      'node_modules/prettier/package.json': '{ "bin": { "prettier": "./run.cjs" } }',
      'node_modules/prettier/run.cjs': prettier,
    });
    expect(added(files, {}, folder).files['src/app.module.ts']).toContain('forRoot(/* src/app.module.ts */)');
  });
});

describe('the version of a client', () => {
  it.each([
    ['of a package that takes another major', { peerDependencies: { ioredis: '^5.0.4' } }, '^5.4.2'],
    ['of a package that takes any', { peerDependencies: { ioredis: '>=4' } }, '^6.0.0'],
    ['of a package without an opinion', {}, '^6.0.0'],
  ])('fits what is installed beside it: %s', (_what, manifest, version) => {
    const files = { ...ESM, 'package.json': dependencies({ typeorm: '^0.3.0' }) };
    const folder = folderOf({ 'node_modules/typeorm/package.json': JSON.stringify(manifest) });
    const { installed, info } = added(files, { client: 'ioredis' }, folder);
    expect(installed).toEqual([expect.objectContaining({ packageName: `"ioredis@${version}"` })]);
    expect(info).toContain(`package.json: ioredis ${version} is a dependency.`);
  });

  it('is the newest, with a warning, where none fits', () => {
    const files = { ...ESM, 'package.json': dependencies({ old: '1.0.0' }) };
    const folder = folderOf({ 'node_modules/old/package.json': '{ "peerDependencies": { "ioredis": "^4.0.0" } }' });
    const { installed, warnings } = added(files, { client: 'ioredis' }, folder);
    expect(installed).toEqual([expect.objectContaining({ packageName: '"ioredis@^6.0.0"' })]);
    expect(warnings).toContain('old needs ioredis ^4.0.0, and nestjs-floodgate needs ioredis ^5.4.2 || ^6.0.0.');
  });
});

describe('Nest', () => {
  it.each(['^10.4.0', '~9.0.0', '11.1.0'])(
    'in a version that the package does not take is a refusal: %s',
    (version) => {
      const files = { ...ESM, 'package.json': MANIFEST.replaceAll('^12.0.1', version) };
      const { changed, refused } = added(files, { client: 'ioredis' });
      const { peerDependencies } = JSON.parse(readFileSync('libs/nest/package.json', 'utf8')) as {
        peerDependencies: Record<string, string>;
      };
      expect(refused).toBe(
        `Nothing was changed: package.json has @nestjs/core ${version}, and nestjs-floodgate needs @nestjs/core ` +
          `${peerDependencies['@nestjs/core']}. Update Nest first.`,
      );
      expect(changed).toEqual([]);
    },
  );

  it.each(['^11.0.0', 'latest', 'workspace:*', '>=10'])('in another one is taken: %s', (version) => {
    expect(added({ ...ESM, 'package.json': MANIFEST.replaceAll('^12.0.1', version) }).refused).toBeUndefined();
  });
});

describe('the package manager', () => {
  it('is that of the workspace around the application', () => {
    const workspace = folderOf({ 'pnpm-lock.yaml': '', 'package.json': '{}', 'apps/api/package.json': '{}' });
    const { info, installed } = added(ESM, { client: 'ioredis', s: true }, join(workspace, 'apps/api'));
    expect(installed).toEqual([]);
    expect(info).toContain('ioredis ^6.0.0 is a dependency: run pnpm install.');
    const refused = added({ 'package.json': MANIFEST }, { client: 'redis' }, join(workspace, 'apps/api')).refused;
    expect(refused).toContain('pnpm add redis');
  });
});

describe('trust proxy', () => {
  it('that is set already is no question, whatever a container does not tell', () => {
    const main = ESM['src/main.ts']!.replace('await app.listen', "app.set('trust proxy', 1);\n  await app.listen");
    const { warnings, info } = added({ ...ESM, Dockerfile: 'FROM node', 'src/main.ts': main });
    expect(warnings).toBe('');
    expect(info).toContain('src/main.ts sets trust proxy already, and stays as it is.');
  });

  it.each([
    ['with two hosts', 'ingress:\n  enabled: true\n  hosts:\n    - host: a.example\n    - host: b.example\n'],
    ['in one line', 'ingress: { enabled: true }\n'],
    ['with lines that a search would try in many ways', `ingress:\n${'  \t \n'.repeat(5000)}  enabled: true\n`],
    ['behind an anchor', 'on: &on\n  enabled: true\ningress: *on\n'],
  ])("is shown by a chart's values %s", (_what, values) => {
    expect(added({ ...ESM, 'chart/values.yaml': values }).info).toContain('the ingress of Helm in front');
  });

  it.each([
    ['that enable something else', `ingress:\n  hosts:\n${'    - a: b\n'.repeat(5000)}\nother:\n  enabled: true\n`],
    ['that are no YAML', 'ingress: [\n  enabled: true\n'],
    ['that are a list', '- ingress\n'],
  ])('is not shown by values %s', (_what, values) => {
    expect(added({ ...ESM, 'chart/values.yaml': values }).changed).toEqual(['src/app.module.ts']);
  });
});

describe('Nx', () => {
  const { 'nest-cli.json': _cli, 'src/main.ts': main, 'src/app.module.ts': module, ...rest } = ESM;
  const app = (folder: string): Files => ({
    [`${folder}/src/main.ts`]: main!,
    [`${folder}/src/app.module.ts`]: module!,
  });
  const WORKSPACE: Files = {
    ...rest,
    'nx.json': '{}',
    'apps/api/project.json': '{ "name": "api", "sourceRoot": "apps/api/src" }',
    ...app('apps/api'),
    'libs/shared/project.json': '{ "name": "shared", "sourceRoot": "libs/shared/src" }',
    'libs/shared/src/index.ts': 'export {};\n',
  };
  const TWO: Files = { ...WORKSPACE, 'apps/jobs/package.json': '{ "name": "@acme/jobs" }', ...app('apps/jobs') };

  it('leads to the only application', () => {
    expect(added(WORKSPACE).changed).toEqual(['apps/api/src/app.module.ts']);
  });

  it.each([
    [{ project: 'api' }, 'apps/api/src/app.module.ts'],
    [{ p: '@acme/jobs' }, 'apps/jobs/src/app.module.ts'],
    [{ project: 'jobs' }, 'apps/jobs/src/app.module.ts'],
  ])('leads to the project %j', (options, changed) => {
    expect(added(TWO, options).changed).toEqual([changed]);
  });

  it('with several applications asks for one', () => {
    expect(added(TWO).refused).toContain(
      'Nothing was changed: no TypeScript file was found in src, and the workspace has several projects: name one by --project=api, --project=@acme/jobs.',
    );
  });
});
