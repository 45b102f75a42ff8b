import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import type { HeadConfig, PageData } from 'vitepress';
import { GENERATED, ORIGIN, REPOSITORY, ROOT } from './pages.js';

const PICTURE = { name: 'social.png', width: 1200, height: 630 };
/** A line of llms.txt: a page, and what it is about. */
const DESCRIBED = /^- \[[^\]]*\]\(([^)]*)\): (.*)$/gm;

/** What each page is about, by its path below the repository: llms.txt says it. */
export function descriptions(): ReadonlyMap<string, string> {
  const lines = readFileSync(join(ROOT, 'llms.txt'), 'utf8').matchAll(DESCRIBED);
  const begin = `${REPOSITORY}/blob/main/`;
  return new Map(Array.from(lines, ([, url, text]) => [url!.replace(begin, ''), text!.replaceAll('`', '')]));
}

/** What other sites show of a link to a page. https://ogp.me */
export function socialHead({ relativePath, title, description }: PageData, fallback: string): HeadConfig[] {
  const address = relativePath.replace(/(?:^|\/)index\.md$|\.md$/, '');
  const tags = {
    'og:type': 'article',
    'og:site_name': 'Floodgate',
    'og:title': title || 'Floodgate',
    'og:description': description || fallback,
    'og:url': `${ORIGIN}${address}`,
    'og:image': `${ORIGIN}${PICTURE.name}`,
  };
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
