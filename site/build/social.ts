import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { toString } from 'mdast-util-to-string';
import sharp from 'sharp';
import type { HeadConfig, PageData } from 'vitepress';
import { GENERATED, ORIGIN, REPOSITORY, ROOT } from './pages.js';

const PICTURE = { name: 'social.png', width: 1200, height: 630 };
/** A line of llms.txt: a page, and what it is about. */
const DESCRIBED = /^- \[[^\]]*\]\(([^)]*)\): (.*)$/gm;

/** A description has at most so many characters: search engines show no more. */
const LONGEST = 160;

/** What llms.txt says of pages, by their address. */
const LISTED = new Map(
  Array.from(readFileSync(join(ROOT, 'llms.txt'), 'utf8').matchAll(DESCRIBED), ([, url, text]) => [url, text]),
);

/** What a page is about, by its path below the repository: llms.txt says it, else its first paragraph does, in whole sentences. */
export function descriptionOf(path: string): string | undefined {
  const listed = LISTED.get(`${REPOSITORY}/blob/main/${path}`);
  if (listed !== undefined) return listed.replaceAll('`', '');
  const paragraph = fromMarkdown(readFileSync(join(ROOT, path), 'utf8')).children.find(
    ({ type }) => type === 'paragraph',
  );
  if (paragraph === undefined) return undefined;
  const [first = '', ...others] = toString(paragraph)
    .replaceAll(/\s+/g, ' ')
    .replace(/:$/, '.')
    .split(/(?<=[.!?]) /);
  const tooMany = others.findIndex((_, i) => [first, ...others.slice(0, i + 1)].join(' ').length > LONGEST);
  return [first, ...(tooMany === -1 ? others : others.slice(0, tooMany))].join(' ');
}

/**
 * What other sites show of a link to a page. https://ogp.me
 *
 * @param address below the site's base
 */
export function openGraph(address: string, title: string, description: string): Readonly<Record<string, string>> {
  return {
    'og:type': 'article',
    'og:site_name': 'Floodgate',
    'og:title': title,
    'og:description': description,
    'og:url': `${ORIGIN}${address}`,
    'og:image': `${ORIGIN}${PICTURE.name}`,
  };
}

export function socialHead({ relativePath, title, description }: PageData, fallback: string): HeadConfig[] {
  const address = relativePath.replace(/(?:^|\/)index\.md$|\.md$/, '');
  const tags = openGraph(address, title || 'Floodgate', description || fallback);
  const open = Object.entries(tags).map(([property, content]): HeadConfig => ['meta', { property, content }]);
  return [...open, ['meta', { name: 'twitter:card', content: 'summary_large_image' }]];
}

/** Writes what crawlers ask for: the picture of a link, and robots.txt. */
export async function writeSocial(): Promise<void> {
  const folder = join(ROOT, GENERATED, 'public');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'robots.txt'), `User-agent: *\nAllow: /\nSitemap: ${ORIGIN}sitemap.xml\n`);
  const { name, width, height } = PICTURE;
  const background = '#ffffff';
  await sharp(join(ROOT, 'docs/images/hero-light-end.webp'))
    .resize({ width, height, fit: 'contain', background })
    .flatten({ background })
    .png({ palette: true })
    .toFile(join(folder, name));
}
