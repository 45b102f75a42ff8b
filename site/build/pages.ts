import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's folder: pages are named by their paths below it. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const REPOSITORY = 'https://github.com/floodgate-nest/floodgate';
/** Where the site is published, with a slash at its end: `homepage` of package.json is the one place that says it. */
export const ORIGIN = (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { homepage: string }).homepage;
/** The playground is no page of VitePress. */
export const PLAYGROUND = '/playground/';

/** Pages whose address is not the name of their file. */
const MOVED: Readonly<Record<string, string>> = {
  'docs/README.md': 'docs',
  'docs/playground.md': 'playground-guide', // /playground/ is the playground itself
  'examples/README.md': 'examples',
  'CHANGELOG.md': 'changelog',
};
const FOLDERS = ['docs', 'site/pages'] as const;
/** Pages that stand in other folders. */
const SINGLE = ['examples/README.md', 'CHANGELOG.md'] as const;
/** What `writeReference` writes. */
export const GENERATED = 'site/generated';

/** The Markdown files of the site, each with its address below the site's base, such as `policies`. */
export function sitePages(): ReadonlyMap<string, string> {
  const written = FOLDERS.flatMap((folder) => markdownIn(folder).map((path) => [path, addressOf(path)] as const));
  const generated = markdownIn(GENERATED).map(
    (path) => [path, path.slice(GENERATED.length + 1, -'.md'.length)] as const,
  );
  return new Map([...written, ...SINGLE.map((path) => [path, addressOf(path)] as const), ...generated]);
}

function addressOf(path: string): string {
  return MOVED[path] ?? posix.basename(path, '.md');
}

function markdownIn(folder: string): string[] {
  const isDeep = folder === GENERATED;
  try {
    return readdirSync(join(ROOT, folder), { recursive: isDeep, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => posix.join(folder, name))
      .toSorted();
  } catch {
    return [];
  }
}

/**
 * Where a link of a page leads on the site: to a page, else to the file at the repository.
 *
 * @param from the page's path below the repository
 * @returns undefined for a link within the page, and for one to elsewhere
 */
export function targetOf(from: string, url: string, pages: ReadonlyMap<string, string>): string | undefined {
  if (url.startsWith(ORIGIN)) return `/${url.slice(ORIGIN.length)}`;
  const local = url.startsWith(`${REPOSITORY}/blob/main/`) ? `/${url.slice(`${REPOSITORY}/blob/main/`.length)}` : url;
  if (/^[a-z]+:/i.test(local) || local.startsWith('#')) return undefined;
  const [target = '', anchor] = local.split('#');
  const path = target.startsWith('/') ? target.slice(1) : posix.join(dirname(from), target);
  const behind = anchor === undefined ? '' : `#${anchor}`;
  const address = pages.get(path);
  if (address !== undefined) return `/${address === 'index' ? '' : address}${behind}`;
  return `${REPOSITORY}/${path.endsWith('/') || !/\.\w+$/.test(path) ? 'tree' : 'blob'}/main/${path}${behind}`;
}

interface Item {
  readonly text: string;
  readonly link: string;
}
interface Group {
  readonly text: string;
  readonly items: readonly Item[];
}

const item = (text: string, link: string): Item => ({ text, link });

export const SIDEBAR: readonly Group[] = [
  {
    text: 'Start',
    items: [
      item('Quick start', '/quick-start'),
      item('What do you want to do?', '/docs'),
      item('Rate limiting, explained', '/explained'),
      item('Install', '/installation'),
      item('From @nestjs/throttler', '/migration'),
      item('Who is counted', '/identity'),
      item('Choose an algorithm', '/policies#choose-an-algorithm'),
      item('Recipes', '/recipes'),
      item('Examples', '/examples'),
      item('Without Nest', '/without-nest'),
    ],
  },
  {
    text: 'Limits',
    items: [
      item('Policies', '/policies'),
      item('Algorithms', '/algorithms'),
      item('Try in the shadow', '/shadow'),
      item('Language models', '/llm'),
      item('Tools of an agent (MCP)', '/mcp'),
      item('What goes together', '/together'),
      item('Plans', '/plans'),
      item('Overrides', '/overrides'),
      item('Settle a cost later', '/settling'),
      item('GraphQL, WebSockets, messages', '/contexts'),
      item('Contexts of your own', '/adapters'),
    ],
  },
  {
    text: 'Protect',
    items: [
      item('Priorities', '/priorities'),
      item('Spill over', '/priorities#run-over-into-another-policy'),
      item('Blocks', '/blocks'),
      item('Shed load', '/production#shed-load'),
      item('Calls that you send', '/outbound'),
      item('Floods', '/floods'),
    ],
  },
  {
    text: 'Operate',
    items: [
      item('Production checklist', '/production'),
      item('Redis', '/redis'),
      item('When Redis fails', '/failures'),
      item('Metrics', '/metrics'),
      item('Explain and unblock', '/admin'),
      item('Performance', '/performance'),
      item('Scale', '/scaling'),
      item('Prefetch', '/prefetch'),
    ],
  },
  {
    text: 'Reference',
    items: [
      item('Module options', '/reference/module-options'),
      item('The module', '/module'),
      item('HTTP headers and bodies', '/http'),
      item('Errors', '/errors'),
      item('Support', '/support'),
      item('Compare', '/compare'),
      item('Proof', '/proof'),
      item('Client', '/client'),
      item('Testing', '/testing'),
      item('A store of your own', '/store'),
      item('Changelog', '/changelog'),
      item('API', '/api'),
      item('Every export', '/reference/api'),
      item('Types', '/reference/api-types'),
      item('Exports without Nest', '/reference/api-floodgate'),
      item('Releasing', '/releasing'),
    ],
  },
  {
    text: 'Recipes',
    items: [
      item('Three plans', '/recipe-plans'),
      item('Failed logins', '/recipe-failed-logins'),
      item('A budget of tokens', '/recipe-token-budget'),
      item('A roll-out in the shadow', '/recipe-shadow'),
      item('A soft limit', '/recipe-soft-limit'),
      item('Three in flight', '/recipe-in-flight'),
      item('A month in Paris', '/recipe-monthly-quota'),
      item('Usage and warnings', '/recipe-usage'),
      item('A queue', '/recipe-partner-queue'),
      item('Credits', '/recipe-credits'),
      item('Shares', '/recipe-shares'),
      item('Why a 429', '/recipe-why-429'),
    ],
  },
  {
    text: 'See it work',
    items: [
      item('Read the playground', '/playground-guide'),
      item('The demo', '/demo'),
      item('Benchmarks', '/benchmarks'),
    ],
  },
];

interface Neighbours {
  readonly prev: Item | false;
  readonly next: Item | false;
}

/**
 * The pages before and behind one in the sidebar. VitePress looks for a page at its first link, which may lead into the page, and
 * then finds none: the next page would be the first one of the sidebar.
 *
 * @param address as `sitePages` has it
 */
export function neighboursOf(address: string): Neighbours {
  const order = SIDEBAR.flatMap(({ items }) => items).filter(({ link }) => !link.includes('#'));
  const i = order.findIndex(({ link }) => link === `/${address}`);
  return i === -1 ? { prev: false, next: false } : { prev: order[i - 1] ?? false, next: order[i + 1] ?? false };
}
