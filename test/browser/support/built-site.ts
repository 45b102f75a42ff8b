import { afterAll, beforeAll } from '@jest/globals';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { launch } from '../../../tools/browser.js';
import { type OpenPage, openPage } from './open-page.js';
import { StaticSite } from './static-site.js';

/** `test/support/setup/site.js` sets both. Who gives a build in `SITE_DIST` has built it for the root of a host, or says otherwise. */
const { SITE_DIST: dist = '', SITE_BASE: base = '/' } = process.env;

export type Look = BrowserContextOptions & { readonly width?: number };

export interface Visit extends AsyncDisposable, OpenPage {
  /** The bytes of all answers so far, as they were sent: of pictures, or of all else. */
  bytes(of?: 'pictures'): Promise<number>;
}

export interface BuiltSite {
  /** The folder of its files. */
  readonly dist: string;
  /** The path below which it is served, such as `/some/path/`. */
  readonly base: string;
  readonly url: string;
  /** Opens a page, such as `policies`, in a context of its own: 1440 x 900 pixels by default. */
  visit(path: string, look?: Look): Promise<Visit>;
}

/** The built site on a server, and a browser, for the file that calls this. */
export function useSite(): BuiltSite {
  let browser: Browser;
  let site: StaticSite;
  beforeAll(async () => {
    [browser, site] = await Promise.all([launch(), StaticSite.serve(dist, base)]);
  });
  afterAll(async () => {
    await browser.close();
    await site[Symbol.asyncDispose]();
  });
  return {
    dist,
    base,
    get url() {
      return site.url;
    },
    visit: (path, look) => visit(browser, `${site.url}${path}`, look),
  };
}

async function visit(browser: Browser, url: string, { width = 1440, ...others }: Look = {}): Promise<Visit> {
  const { origin } = new URL(url);
  const options = { viewport: { width, height: 900 }, ...others };
  const { page, troubles } = await openPage(browser, options, (request) => request.origin === origin);
  page.setDefaultTimeout(20_000);
  const sizes: { readonly isPicture: boolean; readonly size: Promise<number> }[] = [];
  page.on('response', (response) => {
    if (response.status() >= 400) troubles.push(`${response.status()}: ${response.url()}`);
  });
  page.on('requestfinished', (request) => {
    const size = request.sizes().then(
      ({ responseBodySize, responseHeadersSize }) => responseBodySize + responseHeadersSize,
      () => 0, // the page has closed
    );
    sizes.push({ isPicture: request.url().endsWith('.webp'), size });
  });
  await page.goto(url, { waitUntil: 'networkidle' });
  return {
    page,
    troubles,
    bytes: async (of) => {
      const counted = sizes.filter(({ isPicture }) => isPicture === (of === 'pictures'));
      return (await Promise.all(counted.map(({ size }) => size))).reduce((sum, size) => sum + size, 0);
    },
    [Symbol.asyncDispose]: () => page.context().close(),
  };
}
