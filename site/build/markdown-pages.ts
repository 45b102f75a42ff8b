import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Benchmarks, type GroupName, tableOf } from './benchmarks.js';
import { ORIGIN, PLAYGROUND, ROOT, SIDEBAR, sitePages, targetOf } from './pages.js';

const BLOCK = /^(```+|~~~+)([^\n]*)\n([^]*?)^\1$/gm;
const COMMENT = /<!--[^]*?-->\n*/g;

/**
 * Writes each page as Markdown beside it (`policies.md`), `llms.txt`, and `llms-full.txt`: all pages in the order of the sidebar.
 * `llms.txt` is the repository's, with the pages of the site in place of the files.
 */
export function writeMarkdown(folder: string): void {
  const pages = sitePages();
  const texts = new Map([...pages].map(([path, address]) => [address, markdownOf(path, pages)]));
  for (const [address, text] of texts) {
    const file = join(folder, `${address}.md`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  writeFileSync(
    join(folder, 'llms.txt'),
    withAddresses(readFileSync(join(ROOT, 'llms.txt'), 'utf8'), 'llms.txt', pages),
  );
  const order = SIDEBAR.flatMap(({ items }) => items.map(({ link }) => link.slice(1).split('#')[0]!));
  const all = [...new Set(['index', ...order, ...texts.keys()])];
  // The API's types are as long as all other pages together: they have pages of their own.
  const full = all
    .filter((address) => !address.startsWith('reference/api'))
    .map((address) => texts.get(address)!.trim());
  writeFileSync(join(folder, 'llms-full.txt'), `${full.join('\n\n---\n\n')}\n`);
}

/** A page without what is there for the tests and for the browser. */
function markdownOf(path: string, pages: ReadonlyMap<string, string>): string {
  const measured = JSON.parse(readFileSync(join(ROOT, 'site/benchmarks.json'), 'utf8')) as Benchmarks;
  const text = readFileSync(join(ROOT, path), 'utf8')
    .replace(/^---\n[^]*?\n---\n/, '')
    .replace(COMMENT, '')
    .replaceAll(
      BLOCK,
      (_, fence: string, info: string, code: string) => `${fence}${info.trim().split(/\s/)[0]}\n${code}${fence}`,
    )
    .replaceAll(/<BenchBars group="(\w+)" \/>/g, (_, group: GroupName) => tableOf(group, measured))
    .replaceAll('<BenchMachine />', `${measured.machine}, ${measured.date}`)
    .replaceAll(
      /^[ \t]*<\/?(?:div|main|p|section|picture|source|img|a|IdeaFigure|Playground|SimulatedRush|ThreePods)\b[^>]*>\n*|<\/p>$/gm,
      '',
    )
    .replaceAll(/\n{3,}/g, '\n\n')
    .trimStart();
  return withAddresses(text, path, pages);
}

/** The links of a text as addresses that a program can ask for: pages as Markdown. */
function withAddresses(text: string, path: string, pages: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\]\(([^)\s]+)\)/g, (whole, url: string) => {
    const target = targetOf(path, url, pages);
    if (target === undefined) return whole;
    if (!target.startsWith('/')) return `](${target})`;
    const [address = '', anchor] = target.slice(1).split('#');
    if (`/${address}` === PLAYGROUND) return `](${ORIGIN}playground/)`;
    return `](${ORIGIN}${address === '' ? 'index' : address}.md${anchor === undefined ? '' : `#${anchor}`})`;
  });
}
