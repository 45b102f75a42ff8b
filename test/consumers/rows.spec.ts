import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { readOptions, UsageError } from './options.js';
import { examples, templatesIn } from './project.js';
import { choicesOf, type Choices, NODES } from './row.js';
import { ROWS } from './rows.js';
import { PAGES, supportTable, tableIn } from './support-table.js';

const chosen = ROWS.map(choicesOf);
const valuesOf = (choice: keyof Choices): unknown[] => [...new Set(chosen.map((row) => row[choice]))];

describe('the rows', () => {
  it('have a name each, and each says what it proves', () => {
    for (const field of ['name', 'proves'] as const)
      expect(new Set(ROWS.map((row) => row[field])).size).toBe(ROWS.length);
    for (const { name, major, example } of chosen) {
      const pattern = `${major === 'none' ? 'client' : `nest${major}`}-[a-z0-9-]+`;
      expect(name).toMatch(new RegExp(`^${example === undefined ? pattern : `example-${example}`}$`));
    }
  });

  it('run every example, and name its Nest, its modules and its platform as its package.json does', () => {
    const rows = chosen.filter(({ example }) => example !== undefined);
    expect(rows.flatMap(({ example }) => example ?? []).toSorted()).toEqual(examples().toSorted());
    for (const { example, major, modules, platform } of rows) {
      const { type, dependencies } = JSON.parse(readFileSync(`examples/${example}/package.json`, 'utf8')) as {
        type: string;
        dependencies: Record<string, string>;
      };
      expect(dependencies['@nestjs/core']).toMatch(new RegExp(`^\\^${major}\\.`));
      expect(type).toBe(modules === 'esm' ? 'module' : 'commonjs');
      expect(`@nestjs/platform-fastify` in dependencies).toBe(platform === 'fastify');
      expect(readFileSync('examples/README.md', 'utf8')).toContain(`(${example}/README.md)`);
    }
  });

  it.each([
    ['nest', ['11', '11.1.4', '12', 'none']],
    ['modules', ['commonjs', 'esm']],
    ['node', [undefined, ...Object.keys(NODES)]],
    ['resolution', ['node10', 'node16', 'nodenext', 'bundler']],
    ['platform', ['express', 'fastify']],
    ['build', ['tsc', 'swc', 'webpack', 'rspack', 'esbuild']],
    ['redis', templatesIn('redis')],
    ['ioredis', [undefined, '5', '5.4.2', '6']],
    ['nodeRedis', [undefined, '5', '5.0.0', '6']],
    ['metrics', templatesIn('metrics')],
    ['libCheck', [true, false]],
    ['added', [true, false]],
    ['manager', ['npm', 'pnpm', 'yarn1', 'yarn', 'yarn-pnp']],
  ] as const)('contain every %s', (choice, expected) => {
    expect(new Set(valuesOf(choice))).toEqual(new Set<unknown>(expected));
  });

  it('use every entry point of the package', () => {
    const { exports } = JSON.parse(readFileSync('libs/rate-limit/package.json', 'utf8')) as { exports: object };
    const paths = Object.keys(exports).filter((path) => path !== '.' && path !== './package.json');
    expect(templatesIn('entries').map((name) => `./${name}`)).toEqual(paths);
  });

  it('test with the runner of each project that nest new generates', () => {
    const tested = chosen.filter(({ tests }) => tests).map(({ major, modules }) => `${major} ${modules}`);
    expect(new Set(tested)).toEqual(new Set(['11 commonjs', '12 commonjs', '12 esm']));
  });

  it('install ioredis where an application imports it, and not beside iovalkey and node-redis', () => {
    for (const { redis, ioredis, nodeRedis } of chosen) {
      expect(ioredis === undefined).toBe(redis === 'none' || redis === 'iovalkey' || nodeRedis !== undefined);
      expect(nodeRedis !== undefined).toBe(
        redis.startsWith('node-redis') || (redis === 'url' && ioredis === undefined),
      );
    }
  });
});

describe('the support table', () => {
  it.each(PAGES)('in %s shows what the rows prove', (page) => {
    // npm run test:consumers -- --write-readme
    expect(tableIn(page)).toBe(supportTable(ROWS));
  });

  it('leaves out what no row has proved', () => {
    const table = supportTable(ROWS.filter(({ build, node }) => build !== 'esbuild' && node !== '20.18'));
    expect(supportTable(ROWS)).toContain('esbuild');
    expect(supportTable(ROWS)).toContain('20.18');
    expect(table).not.toContain('esbuild');
    expect(table).not.toContain('20.18');
    expect(supportTable([])).toMatch(/^\| Node +\| – +\| – +\|$/m);
  });
});

describe('the command line', () => {
  const names = (...args: string[]): string[] => readOptions(args)!.rows.map(({ name }) => name);

  it('chooses rows', () => {
    expect(names()).toEqual(ROWS.map(({ name }) => name));
    expect(names('--only', 'nest11-pnp')).toEqual(['nest11-pnp']); // and not nest11-pnpm
    expect(names('--only', 'nest12-s')).toEqual(['nest12-second-copy', 'nest12-swc']);
    expect(names('--nest', '11', '--node', '20.18')).toEqual(['nest11-floor', 'nest11-esbuild', 'nest11-iovalkey']);
  });

  it('add the library to fresh projects of both Nests, on both platforms, by npm and pnpm', () => {
    const rows = chosen.filter(({ added }) => added);
    const pairs = (one: keyof Choices, other: keyof Choices): number =>
      new Set(rows.map((row) => `${String(row[one])} ${String(row[other])}`)).size;
    expect([pairs('major', 'platform'), pairs('major', 'manager'), pairs('platform', 'manager')]).toEqual([4, 4, 4]);
    expect(new Set(rows.map(({ major, modules }) => `${major} ${modules}`))).toEqual(
      new Set(['11 commonjs', '12 commonjs', '12 esm']),
    );
  });

  it('gives .ci/run a Jest of Nest 11, a Redis of Nest 12, a strict node_modules, nest add, the client alone and the examples', () => {
    const inCi = chosen.filter(({ ci }) => ci);
    const [first, second, third, fourth, fifth, ...more] = inCi.filter(({ example }) => example === undefined);
    expect(inCi.flatMap(({ example }) => example ?? []).toSorted()).toEqual(examples().toSorted());
    expect(first).toMatchObject({ major: '11', modules: 'commonjs', tests: true });
    expect(second).toMatchObject({ major: '12', modules: 'esm', redis: 'url' });
    expect(third).toMatchObject({ manager: 'pnpm' });
    expect(fourth).toMatchObject({ added: true, nodeRedis: '6', metrics: 'opentelemetry' });
    expect(fifth).toMatchObject({ nest: 'none' });
    expect(more).toEqual([]);
    expect(readFileSync('.ci/run', 'utf8')).toContain('npm run test:all');
    expect(readFileSync('tools/test.ts', 'utf8')).toContain("['test:consumers', '--ci']");
  });

  it.each([
    [['--only', 'nest13'], "--only must begin the name of a row, got 'nest13'"],
    [['--nest', '10'], "--nest must be one of 11, 12, none, got '10'"],
    [['--node', '18'], "--node must be one of 20.18, 20.19, 22.12, 24, got '18'"],
    [['--parallel', '0'], "--parallel must be a whole number from 1 to 8, got '0'"],
    [['--only', 'nest11-jest', '--nest', '12'], 'No row fits all of --only, --nest, --node and --ci'],
    [['--only', 'nest11-jest', '--write-readme'], '--write-readme needs a run of all rows'],
    [['--from', 'result.json'], '--from needs --write-readme'],
    [['--unknown'], "Unknown option '--unknown'"],
  ])('rejects %j', (args, message) => {
    expect(() => readOptions(args)).toThrow(UsageError);
    expect(() => readOptions(args)).toThrow(message);
  });
});
