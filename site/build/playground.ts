import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { GENERATED, PLAYGROUND, ROOT, sitePages, targetOf } from './pages.js';
import { openGraph } from './social.js';

const PAGE = `${ROOT}${GENERATED}/public${PLAYGROUND}index.html`;
const BACK = 'href="../"';
const TITLE = /<title>([^<]*)<\/title>/;
const DESCRIPTION = /<meta name="description" content="([^"]*)"/;

/**
 * Makes the page that `npm run build:playground` has written one of the site: its links to the documentation stay on the site, and links
 * to it show a picture.
 */
export function adoptPlayground(): void {
  if (!existsSync(PAGE)) throw new Error(`there is no ${PAGE}: npm run site and npm run site:build write it`);
  const pages = sitePages();
  let html = readFileSync(PAGE, 'utf8').replaceAll(/href="(https:[^"]+)"/g, (whole, url: string) => {
    const target = targetOf('', url, pages);
    return target?.startsWith('/') === true ? `href="..${target}"` : whole;
  });
  if (!html.includes(BACK)) {
    html = html
      .replace(/<b class="brand">([^]*?)<\/b>/, `<a class="brand" ${BACK}>$1</a>`)
      .replace(/<header>(?![^]*href="\.\.\/")/, `<header>\n      <a ${BACK}>Floodgate</a>`);
  }
  if (!html.includes('og:title')) {
    const [title = '', description = ''] = [TITLE, DESCRIPTION].map((pattern) => pattern.exec(html)?.[1]);
    const tags = Object.entries(openGraph(PLAYGROUND.slice(1), title, description));
    html = html.replace(TITLE, (whole) =>
      [whole, ...tags.map(([property, content]) => `<meta property="${property}" content="${content}" />`)].join(
        '\n    ',
      ),
    );
  }
  writeFileSync(PAGE, html);
}
