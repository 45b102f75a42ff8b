import { existsSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { ORIGIN, PLAYGROUND, SIDEBAR, sitePages } from '../../../site/build/pages.js';
import { type Page, readPage } from './markdown.js';
import { ROOT } from './pages.js';

/** Where the repository is, so that a link to it is checked as well: the package's README has no others. */
export const REPOSITORY = /^https:\/\/github\.com\/floodgate-nest\/floodgate\/(?:blob|tree)\/main\//;
const ELSEWHERE = /^(?:https?:|mailto:)/;

/** The files of the site's pages by their addresses. */
const SITE = new Map([...sitePages()].map(([path, address]) => [address === 'index' ? '' : address, path]));

/** Some pages are there once the site is built. The sidebar has them. */
const BUILT = new Set(SIDEBAR.flatMap(({ items }) => items.map(({ link }) => link)));

const pages = new Map<string, Page>();

export function pageOf(path: string): Page {
  let page = pages.get(path);
  if (page === undefined) pages.set(path, (page = readPage(path)));
  return page;
}

/** Why a link leads nowhere; undefined when it leads somewhere, or out of the repository. */
export function problemOf(from: string, url: string): string | undefined {
  if (url.startsWith(ORIGIN)) return problemOnSite(url.slice(ORIGIN.length));
  const local = url.replace(REPOSITORY, '/');
  if (ELSEWHERE.test(local)) return undefined;
  const [target = '', anchor] = local.split('#');
  const path = target === '' ? from : normalize(target.startsWith('/') ? target.slice(1) : join(dirname(from), target));
  if (!existsSync(`${ROOT}${path}`)) return `there is no ${path}`;
  if (anchor === undefined) return undefined;
  if (!path.endsWith('.md') || statSync(`${ROOT}${path}`).isDirectory()) return `${path} has no anchors`;
  return pageOf(path).anchors.has(anchor) ? undefined : `${path} has no anchor #${anchor}`;
}

function problemOnSite(url: string): string | undefined {
  const [address = '', anchor] = url.split('#');
  if (`/${address}` === PLAYGROUND) return undefined;
  const path = SITE.get(address.replace(/\.md$/, ''));
  if (path === undefined) return BUILT.has(`/${address}`) ? undefined : `the site has no ${address}`;
  return anchor === undefined ? undefined : problemOf(path, `#${anchor}`);
}
