import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { REPOSITORY, ROOT } from './pages.js';

const LINK = /<(a|link|img|script)\b[^>]*?\s(?:href|src)="([^"]*)"/g;
const ID = /\s(?:id|name)="([^"]+)"/g;
const IN_REPOSITORY = new RegExp(`^${REPOSITORY}/(?:blob|tree|edit)/main/([^#]*)`);

/**
 * Looks at every link of a built site: to pages and their anchors, to files of the site, and to files of the repository.
 *
 * @param folder the built files
 * @param base the path below which they are served, such as `/` or `/floodgate/`
 * @returns a line for each link that leads nowhere
 */
export function brokenLinks(folder: string, base: string): string[] {
  const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'));
  const texts = new Map(pages.map((name) => [name.replaceAll('\\', '/'), readFileSync(join(folder, name), 'utf8')]));
  const ids = new Map(
    [...texts].map(([name, text]) => [name, new Set(Array.from(text.matchAll(ID), ([, id]) => id!))]),
  );
  const problems = new Set<string>();
  for (const [name, text] of texts) {
    // It stands in for any address, so its own relative links have no place.
    if (name === '404.html') continue;
    for (const [, , url] of text.matchAll(LINK)) {
      const problem = problemOf(url!.replaceAll('&amp;', '&'), name);
      if (problem !== undefined) problems.add(`${name}: ${problem}`);
    }
  }
  return [...problems];

  function problemOf(url: string, from: string): string | undefined {
    const [, file] = IN_REPOSITORY.exec(url) ?? [];
    if (file !== undefined)
      return existsSync(join(ROOT, decodeURIComponent(file))) ? undefined : `the repository has no ${file}`;
    if (/^[a-z]+:/i.test(url)) return undefined;
    const [path = '', anchor] = url.split('#');
    const absolute = path.startsWith('/')
      ? path
      : posix.join(base, posix.dirname(from), path === '' ? posix.basename(from) : path);
    if (!`${absolute}/`.startsWith(base)) return `${url} is not below ${base}`;
    const target = fileOf(decodeURIComponent(absolute.slice(base.length)));
    if (target === undefined) return `there is no ${url}`;
    if (anchor === undefined || anchor === '' || !target.endsWith('.html')) return undefined;
    return ids.get(target)?.has(decodeURIComponent(anchor)) === true ? undefined : `there is no anchor ${url}`;
  }

  /** As a static host finds it. */
  function fileOf(path: string): string | undefined {
    return [path, `${path}.html`, posix.join(path, 'index.html')].find((name) => {
      const file = join(folder, name);
      return existsSync(file) && statSync(file).isFile();
    });
  }
}
