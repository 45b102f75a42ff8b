import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

export const textOf = (path: string): string => readFileSync(`${ROOT}${path}`, 'utf8');

/** The pages whose every snippet is run. A page that is added to docs/ belongs to them at once. */
export const PAGES: readonly string[] = [
  'README.md',
  ...['floodgate', 'nest', 'client', 'migrate']
    .map((name) => `libs/${name}/README.md`)
    .filter((path) => existsSync(`${ROOT}${path}`)),
  ...['docs', 'site/pages']
    .filter((folder) => existsSync(`${ROOT}${folder}`))
    .flatMap((folder) => readdirSync(`${ROOT}${folder}`).map((name) => `${folder}/${name}`))
    .filter((path) => path.endsWith('.md')),
];

/** The pages of the examples: `npm run test:consumers` runs what they describe. */
function examples(): string[] {
  return readdirSync(`${ROOT}examples`, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `examples/${name}/README.md`);
}

/** Pages of which links and npm scripts are checked, and no snippets run. */
export const OTHER_PAGES: readonly string[] = [
  'CONTRIBUTING.md',
  'libs/README.md',
  'test/README.md',
  'test/docs/README.md',
  'site/README.md',
  'SECURITY.md',
  'CODE_OF_CONDUCT.md',
  'ROADMAP.md',
  'STABILITY.md',
  'CHANGELOG.md',
  '.changeset/README.md',
  'deploy/README.md',
  'bench/README.md',
  'examples/README.md',
  ...examples(),
  'llms.txt',
];
