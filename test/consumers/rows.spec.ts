import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { examples, templatesIn } from './project.js';
import { choicesOf } from './row.js';
import { ROWS } from './rows.js';
import { PAGE, supportTable, tableIn } from './support-table.js';

const chosen = ROWS.map(choicesOf);

describe('the rows', () => {
  it('say what each proves, and are named by what they install', () => {
    expect(new Set(ROWS.map(({ proves }) => proves)).size).toBe(ROWS.length);
    for (const { name, major, server, folder } of chosen) {
      const alone = server === undefined && folder === undefined ? 'client' : 'engine';
      const pattern = `${major === 'none' ? alone : `nest${major}`}-[a-z0-9-]+`;
      const isExample = folder?.startsWith('examples/') === true;
      expect(name).toMatch(new RegExp(`^${isExample ? folder.replace('s/', '-') : pattern}$`));
    }
  });

  it('run every example, and name its Nest, its modules and its platform as its package.json does', () => {
    const all = chosen.flatMap(({ folder, ...row }) => (folder === undefined ? [] : [{ ...row, folder }]));
    const rows = all.filter(({ folder }) => folder.startsWith('examples/'));
    expect(rows.map(({ folder }) => folder).toSorted()).toEqual(examples().toSorted());
    for (const { folder, major, modules, platform } of all) {
      const { type, dependencies } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as {
        type: string;
        dependencies: Record<string, string>;
      };
      const nest = dependencies['@nestjs/core'] ?? 'none';
      expect(nest).toMatch(new RegExp(major === 'none' ? '^none$' : `^\\^${major}\\.`));
      expect(type).toBe(modules === 'esm' ? 'module' : 'commonjs');
      expect(`@nestjs/platform-fastify` in dependencies).toBe(platform === 'fastify');
    }
    for (const { folder } of rows)
      expect(readFileSync('examples/README.md', 'utf8')).toContain(`(${folder.replace('examples/', '')}/README.md)`);
  });

  it.each(['redis', 'metrics'] as const)('use every template of %s', (choice) => {
    expect([...new Set(chosen.map((row) => row[choice]))].toSorted()).toEqual(templatesIn(choice).toSorted());
  });

  it('use every template of server', () => {
    expect(chosen.flatMap(({ server }) => server ?? []).toSorted()).toEqual(templatesIn('server').toSorted());
  });

  it('use the client and every entry point of the package', () => {
    const { exports } = JSON.parse(readFileSync('libs/nest/package.json', 'utf8')) as { exports: object };
    const paths = Object.keys(exports).filter((path) => path !== '.' && path !== './package.json');
    expect(templatesIn('entries').map((name) => `./${name}`)).toEqual(['./client', ...paths]);
  });

  it('give .ci/run a Jest of Nest 11, a Redis of Nest 12, a strict node_modules, nest add, the client alone and the examples', () => {
    const inCi = chosen.filter(({ ci }) => ci);
    expect(inCi.flatMap(({ folder }) => folder ?? []).toSorted()).toEqual(examples().toSorted());
    expect(inCi.filter(({ folder }) => folder === undefined)).toMatchObject([
      { major: '11', modules: 'commonjs', tests: true },
      { major: '12', modules: 'esm', redis: 'url' },
      { manager: 'pnpm' },
      { added: true, nodeRedis: '6', metrics: 'opentelemetry' },
      { nest: 'none' },
    ]);
    expect(readFileSync('.ci/run', 'utf8')).toContain('npm run test:all');
    expect(readFileSync('tools/test.ts', 'utf8')).toContain("['test:consumers', '--ci']");
  });

  it('are what the support table of the README shows', () => {
    // npm run test:consumers -- --write-readme
    expect(tableIn(PAGE)).toBe(supportTable(ROWS));
  });
});
