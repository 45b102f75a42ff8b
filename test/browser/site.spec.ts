import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Browser, Page, Route } from 'playwright-core';
import { brokenLinks } from '../../site/build/check-site.js';
import { until } from '../support/faults/until.js';
import { violations } from './support/axe.js';
import { StaticSite } from './support/static-site.js';
import { launch } from './support/viewer.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BUILD_LIMIT_MS = 400_000;
const WIDTHS = [390, 768, 1024, 1440] as const;
/** Compressed, with the font: a page as a new visitor gets it, without the picture that a guide may begin with, which may be as large. */
const FIRST_VIEW_BYTES = 200_000;
/** Of pages beside each other. */
const VISITS = 4;
const { SITE_DIST } = process.env;
/** Below a path every link of the site's own code has to follow the base. What is given is a build for the root of a host. */
const BASE = SITE_DIST === undefined ? '/some/path/' : '/';

jest.setTimeout(120_000);

let browser: Browser;
let folder: string;
let dist: string;
let site: StaticSite;

/** `npm run site:build` without the application's build, which `npm run test:browser` has made. `SITE_DIST` is a build to take. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'site-'));
  dist = SITE_DIST ?? join(folder, 'dist');
  if (SITE_DIST === undefined) {
    const node = (args: readonly string[], variables: Record<string, string> = {}): Promise<unknown> =>
      promisify(execFile)(
        process.execPath,
        ['--import', './test/support/typescript-loader.js', '--disable-warning=ExperimentalWarning', ...args],
        { cwd: ROOT, env: { ...process.env, NODE_OPTIONS: '', NODE_ENV: 'production', ...variables } },
      );
    await node(['tools/build-page.ts', 'playground', '--out', 'site/generated/public/playground']);
    await node(['site/main.ts', 'build'], { SITE_OUT: dist, SITE_BASE: BASE });
  }
  browser = await launch();
  site = await StaticSite.serve(dist, BASE);
}, BUILD_LIMIT_MS);

afterAll(async () => {
  await browser?.close();
  await site?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

interface Visit extends AsyncDisposable {
  readonly page: Page;
  /** Messages of the console, errors, requests to other hosts and answers that are no success. */
  readonly troubles: string[];
  /** The bytes of all answers so far, as they were sent: of pictures, or of all else. */
  bytes(of?: 'pictures'): Promise<number>;
}

async function visit(url: string, look: { width?: number; colorScheme?: 'light' | 'dark' } = {}): Promise<Visit> {
  const { width = 1440, colorScheme = 'light' } = look;
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const troubles: string[] = [];
  const sizes: { readonly isPicture: boolean; readonly size: Promise<number> }[] = [];
  page.on('console', (message) => troubles.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => troubles.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(new URL('/', url).href)) troubles.push(`request: ${request.url()}`);
  });
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
    [Symbol.asyncDispose]: () => context.close(),
  };
}

describe('the site', () => {
  it('plays the rush on its first page, by itself', async () => {
    await using visited = await visit(site.url);
    const { page } = visited;
    expect(await page.title()).toBe('Floodgate | Rate limiting for NestJS');
    const failed = page.locator('.fh-without .fh-failed .fh-value');
    await failed.scrollIntoViewIfNeeded();
    await page.locator('.fh-without .fh-failed[data-bad]').waitFor();
    expect(await page.locator('.fh-within .fh-failed[data-bad]').count()).toBe(0);
    expect(visited.troubles).toEqual([]);
  });

  it('shows half of the picture of the rush in its first view, where it plays without a touch', async () => {
    await using visited = await visit(site.url);
    const { page } = visited;
    const shown = (): Promise<number[]> =>
      page.locator('.fh-canvas').evaluateAll((all) =>
        all.map((one) => {
          const { top, height } = one.getBoundingClientRect();
          return (innerHeight - top) / height;
        }),
      );
    await page.locator('.fh-play').getByText('Pause').waitFor();
    expect(Math.min(...(await shown()))).toBeGreaterThan(0.5);
    await page.locator('.fh-play').getByText('Replay').waitFor();
    expect(await page.evaluate(() => scrollY)).toBe(0);
    expect(visited.troubles).toEqual([]);
  });

  it('leaves no hole below the picture of the rush, and no line of the code beside the window', async () => {
    await using visited = await visit(site.url);
    const { page } = visited;
    for (const width of [...WIDTHS, 740, 820]) {
      await page.setViewportSize({ width, height: 900 });
      const found = await page.evaluate(() => ({
        hole: document.querySelector('.rush')!.clientHeight - document.querySelector('.fh')!.clientHeight,
        beyond: Array.from(document.querySelectorAll('.landing pre'), (one) => one.scrollWidth - one.clientWidth),
      }));
      expect([width, found]).toEqual([width, { hole: 0, beyond: found.beyond.map(() => 0) }]);
    }
  });

  it('finds a page by its text, and opens it', async () => {
    await using visited = await visit(site.url);
    const { page } = visited;
    await page.getByRole('button', { name: 'Search' }).first().click();
    await page.locator('#localsearch-input').fill('trust proxy');
    await page.locator('#localsearch-list a[href*="/identity"]').first().click();
    await page.waitForURL((url) => url.href.startsWith(`${site.url}identity`));
    await page.getByRole('heading', { level: 1, name: 'Identities' }).waitFor();
    expect(visited.troubles).toEqual([]);
  });

  it.each([
    ['token bucket', 1, /policies#choose-an-algorithm$/],
    ['leaky bucket', 1, /policies#choose-an-algorithm$/],
    ['Retry-After', 3, /http(?:#|$)/],
    ['kubernetes', 1, /production#run-on-kubernetes$/],
    ['trust proxy', 1, /identity#proxies$/],
    ['FG_TRUST_PROXY', 1, /errors#fg_trust_proxy$/],
    ['how do I count users', 3, /quick-start#4-count-users$/],
  ])('finds the right page of %s among the first %i', async (query, first, address) => {
    await using visited = await visit(site.url);
    const { page } = visited;
    await page.getByRole('button', { name: 'Search' }).first().click();
    await page.locator('#localsearch-input').fill(query);
    const results = page.locator('#localsearch-list a');
    await results.first().waitFor();
    const found = await results.evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).href));
    expect([query, found.slice(0, first).filter((url) => address.test(url)).length > 0, found.slice(0, 4)]).toEqual([
      query,
      true,
      expect.anything(),
    ]);
    expect(visited.troubles).toEqual([]);
  });

  it('says in its own words that there is no such page, and leads on', async () => {
    await using visited = await visit(`${site.url}404`);
    const { page } = visited;
    await page.getByRole('heading', { level: 1, name: 'There is no such page' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('main').getByRole('link', { name: 'Quick start' }).click();
    await page.getByRole('heading', { level: 1, name: 'Quick start' }).waitFor();
    await page.getByRole('link', { name: 'Examples', exact: true }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Examples' }).waitFor();
    expect(visited.troubles).toEqual([]);
  });

  it('leaves room between the words and the figures of the benchmarks', async () => {
    for (const width of WIDTHS) {
      await using visited = await visit(`${site.url}benchmarks`, { width });
      const gaps = await visited.page.locator('.bars tbody tr').evaluateAll((rows) =>
        rows.map((row) => {
          const [words, figure] = [row.querySelector('th')!, row.querySelector('td.number')!].map((cell) => {
            const range = document.createRange();
            range.selectNodeContents(cell);
            return range.getBoundingClientRect();
          });
          return figure!.left - words!.right;
        }),
      );
      expect(gaps.length).toBeGreaterThan(8);
      expect([width, Math.min(...gaps) >= 12]).toEqual([width, true]);
    }
  });

  it('leads to the playground, and back', async () => {
    await using visited = await visit(site.url);
    const { page } = visited;
    await page.getByRole('link', { name: 'Playground', exact: true }).first().click();
    await page.locator('[data-algorithm=token-bucket]').getByText('Remaining').waitFor();
    await page.locator('a[href="../"]').first().click();
    await page.waitForURL(site.url);
    expect(visited.troubles).toEqual([]);
  });

  it(`sends less than ${FIRST_VIEW_BYTES / 1000} kB for the first view of each page`, async () => {
    const names = await readdir(dist, { recursive: true });
    const pages = names.filter((name) => name.endsWith('.html') && name !== '404.html');
    expect(pages.length).toBeGreaterThan(30);
    const large: [string, number][] = [];
    const look = async (name: string): Promise<void> => {
      await using visited = await visit(`${site.url}${name.replace(/(?:index)?\.html$/, '')}`);
      const bytes = await visited.bytes();
      expect(bytes).toBeGreaterThan(60_000); // the font and the framework are among them
      for (const size of [bytes, await visited.bytes('pictures')])
        if (size >= FIRST_VIEW_BYTES) large.push([name, size]);
      expect([name, visited.troubles]).toEqual([name, []]);
    };
    while (pages.length > 0) await Promise.all(pages.splice(0, VISITS).map(look));
    expect(large).toEqual([]);
  });

  it.each(['light', 'dark'] as const)('has nothing that axe finds, %s', async (colorScheme) => {
    const found: string[] = [];
    for (const path of ['', 'policies', 'benchmarks']) {
      for (const width of [390, 1440]) {
        await using visited = await visit(`${site.url}${path}`, { width, colorScheme });
        found.push(...(await violations(visited.page)).map((one) => `/${path}, ${width} px: ${one}`));
      }
    }
    expect(found).toEqual([]);
  });

  it('is as wide as the window', async () => {
    await using visited = await visit(site.url);
    const { page } = visited;
    for (const path of ['', 'policies', 'performance', 'benchmarks', 'reference/api']) {
      await page.goto(`${site.url}${path}`);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        const beyond = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        expect([path, width, Math.max(beyond, 0)]).toEqual([path, width, 0]);
      }
    }
    expect(visited.troubles).toEqual([]);
  });

  it('shows types on hover, and none of the annotations for the tests', async () => {
    await using visited = await visit(`${site.url}quick-start`);
    const { page } = visited;
    await page.locator('.has-type', { hasText: 'capacity' }).first().hover();
    const box = page.getByRole('tooltip');
    await box.getByText('capacity: number').waitFor();
    await box.hover();
    expect(await box.locator('p').innerText()).not.toBe('');
    await page.keyboard.press('Escape');
    expect(await box.count()).toBe(0);
    expect(await page.locator('main').innerText()).not.toMatch(/checked=|example=|ts module/);
  });

  it.each(['', 'demo', 'playground-guide'])('keeps the place of a picture until it comes: /%s', async (path) => {
    for (const width of [390, 1440]) {
      await using visited = await visit(`${site.url}404`, { width });
      const { page } = visited;
      const held: Route[] = [];
      let isHeld = true;
      await page.route('**/*.webp', (route) => (isHeld ? void held.push(route) : route.continue()));
      await page.goto(`${site.url}${path}`, { waitUntil: 'load' });
      const pictures = page.locator('main img:not(.only-dark)');
      const places = (): Promise<number[][]> =>
        pictures.evaluateAll((all) =>
          all.map((one) => {
            const place = one.getBoundingClientRect();
            return [place.width, place.height];
          }),
        );
      const before = await places();
      expect(before).not.toEqual([]);
      isHeld = false;
      await Promise.all(held.map((route) => route.continue()));
      for (const picture of await pictures.all()) {
        await picture.scrollIntoViewIfNeeded();
        const seen = (): Promise<boolean> =>
          picture.evaluate((one: HTMLImageElement) => one.complete && one.naturalWidth > 0);
        await until('the picture', 10_000, seen);
      }
      expect([path, width, await places()]).toEqual([path, width, before]);
    }
  });

  it('is there as Markdown: each page, an index and the whole', async () => {
    const names = await readdir(dist);
    const pages = names.filter((name) => name.endsWith('.html') && name !== '404.html');
    expect(pages.map((name) => name.replace('.html', '.md')).filter((name) => !names.includes(name))).toEqual([]);
    const read = (name: string): Promise<string> => readFile(join(dist, name), 'utf8');
    const [index, whole, policies] = await Promise.all(['llms.txt', 'llms-full.txt', 'policies.md'].map(read));
    const linked = [...index!.matchAll(/\(https:\/\/floodgate-nest\.github\.io\/floodgate\/([\w-]+\.md)\)/g)];
    expect(linked.length).toBeGreaterThan(20);
    expect(linked.map(([, name]) => name!).filter((name) => !names.includes(name))).toEqual([]);
    expect(whole).toContain(policies!.trim());
    expect(policies).not.toMatch(/<!--|^```ts ./m);
  });

  it('is not built with a link that leads nowhere', async () => {
    const copy = join(folder, 'copy');
    await cp(dist, copy, { recursive: true });
    expect(brokenLinks(copy, BASE)).toEqual([]);
    const page = await readFile(join(copy, 'plans.html'), 'utf8');
    const wrong = [
      `${BASE}no-page`,
      `${BASE}policies#no-anchor`,
      './no-file.png',
      'https://github.com/floodgate-nest/floodgate/blob/main/no.ts',
    ];
    const links = wrong.map((url) => `<a class="x" href="${url}">x</a>`).join('');
    await writeFile(join(copy, 'plans.html'), page.replace('</body>', `${links}</body>`));
    expect(brokenLinks(copy, BASE)).toEqual([
      `plans.html: there is no ${BASE}no-page`,
      `plans.html: there is no anchor ${BASE}policies#no-anchor`,
      'plans.html: there is no ./no-file.png',
      'plans.html: the repository has no no.ts',
    ]);
  });
});
