import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { dotsOf, KINDS } from '../../demo/explained/draw.js';
import { FIGURES, type Idea } from '../../demo/explained/figures.js';
import { defaultsOf, type Figure, type Settings } from '../../demo/explained/scene.js';
import { brokenLinks } from '../../site/build/check-site.js';
import { violations } from './support/axe.js';
import { type OpenPage, openPage } from './support/open-page.js';
import { StaticSite } from './support/static-site.js';
import { launch } from '../../tools/browser.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BUILD_LIMIT_MS = 400_000;
const WIDTHS = [390, 768, 1440] as const;
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

interface Visit extends AsyncDisposable, OpenPage {
  /** The bytes of all answers so far, as they were sent: of pictures, or of all else. */
  bytes(of?: 'pictures'): Promise<number>;
}

async function visit(url: string, look: BrowserContextOptions & { width?: number } = {}): Promise<Visit> {
  const { width = 1440, ...others } = look;
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

/** What a developer looks for, in their words, and the page that has it. */
const TASKS: Readonly<Record<string, string>> = {
  'limit login attempts': 'recipe-failed-logins',
  throttler: 'migration',
  '429 headers': 'http',
  'Redis down': 'failures',
  cluster: 'redis',
  'proxy IP': 'production',
  GraphQL: 'contexts',
  'websocket key': 'contexts',
  queue: 'recipe-partner-queue',
  'test limits jest': 'testing',
  'reset a user': 'admin',
  'metrics grafana': 'metrics',
  'monthly quota': 'recipe-monthly-quota',
  'express without nest': 'without-nest',
  'tokens LLM': 'recipe-token-budget',
  'MCP agent': 'mcp',
  'rolling deploy': 'production',
  'shadow mode': 'shadow',
  'cost per request': 'settling',
  'blocked client': 'admin',
  'outbound API limit': 'outbound',
  'plans per tenant': 'plans',
  changelog: 'changelog',
  Upstash: 'redis',
  Dragonfly: 'redis',
};

const addresses = (links: Locator): Promise<string[]> =>
  links.evaluateAll((all) => all.map((link) => link.getAttribute('href')!));

/** The addresses of the first three results. */
async function search(page: Page, query: string): Promise<string[]> {
  await page.evaluate(() => sessionStorage.clear()); // the search before
  await page.getByRole('button', { name: 'Search' }).first().click();
  await page.locator('#localsearch-input').fill(query);
  const results = page.locator('#localsearch-list a');
  await results.first().waitFor();
  return (await addresses(results)).slice(0, 3);
}

describe('the site', () => {
  it.each([
    ['token bucket', /algorithms#token-bucket$/],
    ['kubernetes', /production#run-on-kubernetes$/],
    ['FG_TRUST_PROXY', /errors#fg_trust_proxy$/],
  ])('finds the right page of %s first', async (query, address) => {
    await using visited = await visit(site.url);
    const [first] = await search(visited.page, query);
    expect(first).toMatch(address);
  });

  it("finds the page of each of a developer's tasks among the first three, and the sidebar has it", async () => {
    await using visited = await visit(`${site.url}docs`);
    const { page } = visited;
    const sidebar = await addresses(page.locator('.VPSidebar a'));
    const found: Record<string, string> = {};
    for (const [query, wanted] of Object.entries(TASKS)) {
      const pages = (await search(page, query)).map((address) => address.split('#')[0]!);
      await page.keyboard.press('Escape');
      found[query] = pages.includes(`${BASE}${wanted}`) ? wanted : pages.join(', ');
    }
    expect(found).toEqual(TASKS);
    const listed = sidebar.map((address) => address.split('#')[0]!.slice(BASE.length));
    expect(Object.values(TASKS).filter((wanted) => !listed.includes(wanted))).toEqual([]);
  });

  it('has buttons that copy without a hover, tabs of package managers, and a ring around a slider', async () => {
    await using visited = await visit(`${site.url}installation`);
    const { page } = visited;
    const block = page.locator('.vp-code-group').first();
    expect(
      await block
        .locator('button.copy')
        .first()
        .evaluate((button) => getComputedStyle(button).opacity),
    ).toBe('1');
    expect(await block.innerText()).toContain('npx nest add nestjs-floodgate');
    await block.locator('label', { hasText: 'pnpm' }).click();
    const commands = ['pnpm add nestjs-floodgate', 'pnpm nest add nestjs-floodgate --skip-install', 'pnpm install'];
    expect((await block.locator('pre').filter({ visible: true }).innerText()).trim()).toBe(commands.join('\n'));
    await page.goto(site.url);
    const slider = page.locator('.fh-setting input').first();
    await slider.focus();
    await page.keyboard.press('ArrowRight');
    expect(await slider.evaluate((input) => getComputedStyle(input).outlineStyle)).toBe('solid');
    expect(visited.troubles).toEqual([]);
  });

  it('prints the text alone: in light, with code that wraps and addresses behind links', async () => {
    await using visited = await visit(`${site.url}installation`, { colorScheme: 'dark' });
    const { page } = visited;
    await page.emulateMedia({ media: 'print' });
    await page.setViewportSize({ width: 794, height: 1123 }); // A4
    await page.locator(':root:not(.dark)').waitFor();
    for (const part of ['.VPNav', '.VPSidebar', '.VPDocFooter', 'button.copy'])
      expect([part, await page.locator(part).filter({ visible: true }).count()]).toEqual([part, 0]);
    const wide = await page.locator('pre').evaluateAll((all) => all.filter((pre) => pre.scrollWidth > pre.clientWidth));
    expect(wide).toEqual([]);
    const link = page.locator('.vp-doc a[href^="https://github.com/nestjs"]').first();
    expect(await link.evaluate((one) => getComputedStyle(one, '::after').content)).toContain('github.com/nestjs');
    await page.emulateMedia({ media: 'screen' });
    await page.locator(':root.dark').waitFor();
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

  it('has nothing that axe finds', async () => {
    const found: string[] = [];
    for (const [path, width, colorScheme] of [
      ['', 1440, 'light'],
      ['', 390, 'dark'],
      ['policies', 390, 'light'],
      ['benchmarks', 1440, 'dark'],
      ['explained', 1440, 'light'],
      ['explained', 390, 'dark'],
    ] as const) {
      await using visited = await visit(`${site.url}${path}`, { width, colorScheme });
      found.push(...(await violations(visited.page)).map((one) => `/${path}, ${width} px: ${one}`));
    }
    expect(found).toEqual([]);
  });

  it('embeds the playground where a reader comes near it: without a shift, in the theme of the page', async () => {
    for (const [width, colorScheme] of [
      [1440, 'light'],
      [390, 'dark'],
    ] as const) {
      await using visited = await visit(site.url, { width, colorScheme });
      const { page } = visited;
      const place = page.locator('.playground');
      expect(await place.locator('canvas').count()).toBe(0);
      await page.evaluate(() => {
        const shifts: string[] = [];
        Object.assign(globalThis, { shifts });
        // The rush above and the bar of the site are not the playground's.
        new PerformanceObserver((list) => {
          const places = (list.getEntries() as unknown as { readonly sources: readonly { node?: Element }[] }[])
            .flatMap(({ sources }) => sources.map(({ node }) => node))
            .filter((node) => node?.closest?.('main') && node.closest('.rush') === null);
          shifts.push(...places.map((node) => node!.outerHTML.slice(0, 80)));
        }).observe({ type: 'layout-shift' });
      });
      while ((await place.locator('canvas').count()) === 0 || (await place.boundingBox())!.y > 100) {
        await page.mouse.wheel(0, 200);
        await page.waitForTimeout(50);
      }
      await place.getByText('Passed').first().waitFor();
      expect(await page.evaluate(() => (globalThis as unknown as { shifts: string[] }).shifts)).toEqual([]);
      const below = await place.evaluate((one) => one.clientHeight - one.firstElementChild!.clientHeight);
      expect([below >= 0, below < 120]).toEqual([true, true]);
      await place.getByRole('button', { name: 'Login' }).click();
      expect(await place.locator('#question').innerText()).toMatch(/guesses passwords/);
      await place.getByText('More traffic, and the numbers').click();
      expect((await violations(page)).map((one) => `${width} px: ${one}`)).toEqual([]);
      const picture = (): Promise<string> =>
        place
          .locator('canvas.picture')
          .first()
          .evaluate((one) => (one as HTMLCanvasElement).toDataURL());
      const before = await picture();
      await page.evaluate(() => document.documentElement.classList.toggle('dark'));
      expect(await picture()).not.toBe(before);
      await page.evaluate(() =>
        Object.assign(navigator.clipboard, { writeText: () => Promise.reject(new Error('no')) }),
      );
      await place.getByRole('button', { name: 'Copy link' }).click();
      expect(await page.locator('#manual-text').inputValue()).toMatch(/\/playground\/#v=1&.*s=login/);
      expect([new URL(page.url()).hash, visited.troubles]).toEqual(['', []]);
    }
  });

  it('is as wide as the window', async () => {
    await using visited = await visit(site.url);
    const { page } = visited;
    for (const path of ['', 'policies', 'benchmarks', 'explained', 'reference/api']) {
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
    const name = page.locator('.has-type', { hasText: 'capacity' }).first();
    // A scroll hides the box: its event comes with the next frame.
    await name.scrollIntoViewIfNeeded();
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    await name.hover();
    const box = page.getByRole('tooltip');
    await box.getByText('capacity: number').waitFor();
    expect(await page.locator('main').innerText()).not.toMatch(/checked=|example=|ts module/);
  });

  it('tells crawlers its pages, and what each is about', async () => {
    const read = (name: string): Promise<string> => readFile(join(dist, name), 'utf8');
    expect(await read('robots.txt')).toContain('Sitemap: https://floodgate-nest.github.io/floodgate/sitemap.xml');
    expect(await read('sitemap.xml')).toContain('<loc>https://floodgate-nest.github.io/floodgate/policies</loc>');
    const pages = await Promise.all(['llm.html', 'mcp.html', 'redis.html', 'index.html', 'explained.html'].map(read));
    const abouts = pages.map((page) => /<meta property="og:description" content="([^"]*)">/.exec(page)?.[1]);
    expect([new Set(abouts).size, abouts.includes(undefined)]).toEqual([5, false]);
    expect((await read('social.png')).length).toBeGreaterThan(0);
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

describe('rate limiting, explained', () => {
  const IDEAS = Object.keys(FIGURES) as Idea[];
  /** A film takes 4 s, and a busy machine draws its last frame late. */
  const FILM_MS = 10_000;
  const calm: BrowserContextOptions = { reducedMotion: 'reduce' };

  const open = (options?: Parameters<typeof visit>[1]): Promise<Visit> => visit(`${site.url}explained`, options);
  const figureOf = ({ page }: Visit, idea: Idea): Locator => page.locator('figure.idea').nth(IDEAS.indexOf(idea));
  const says = (figure: Locator): Promise<string> => figure.locator('figcaption').innerText();
  /** The dots of each kind, in the order of drawing. */
  const dots = (figure: Locator): Promise<(string | null)[]> =>
    figure.locator('path.dots').evaluateAll((paths) => paths.map((path) => path.getAttribute('d')));

  it.each(IDEAS)('plays the figure of the %s once it is in view, without the network, and again', async (idea) => {
    // So low that no figure is in view before.
    await using visited = await open({ viewport: { width: 1440, height: 420 } });
    const figure = figureOf(visited, idea);
    const { rows, end: ends } = FIGURES[idea].sceneOf(defaultsOf(FIGURES[idea]));
    const end = rows.flatMap((row) => KINDS.map((kind) => dotsOf(row, kind, ends)));
    expect(await dots(figure)).toEqual(end);
    await visited.page.context().setOffline(true);
    await figure
      .locator('.plot')
      .first()
      .evaluate((plot) => plot.scrollIntoView({ block: 'center' }));
    const [pause, replay] = ['Pause', 'Replay'].map((name) => figure.getByRole('button', { name }));
    await pause!.waitFor();
    await pause!.click();
    expect(await dots(figure)).not.toEqual(end);
    await figure.getByRole('button', { name: 'Play', exact: true }).click();
    await replay!.waitFor({ timeout: FILM_MS });
    expect(await dots(figure)).toEqual(end);
    await replay!.click();
    await pause!.waitFor();
    expect(visited.troubles).toEqual([]);
  });

  it.each(IDEAS)('sets the figure of the %s with a keyboard, and it says at once what happens', async (idea) => {
    await using visited = await open(calm);
    const figure = figureOf(visited, idea);
    const { keyboard } = visited.page;
    const model: Figure = FIGURES[idea];
    let settings: Settings = defaultsOf(model);
    const expectModel = async (): Promise<void> => expect(await says(figure)).toBe(model.sceneOf(settings).says);
    await expectModel();
    for (const { name, label, options, min, max, step, value } of model.controls) {
      const control =
        options === undefined ? figure.getByLabel(label) : figure.getByRole('radio', { name: options[value]! });
      await control.focus();
      await keyboard.press('ArrowRight');
      settings = { ...settings, [name]: value + step };
      await expectModel();
      if (options !== undefined) continue;
      for (const [key, at] of [
        ['Home', min],
        ['End', max],
      ] as const) {
        await keyboard.press(key);
        settings = { ...settings, [name]: at };
        await expectModel();
      }
    }
    // Where motion is unwanted nothing plays by itself.
    await figure.getByRole('button', { name: 'Replay' }).waitFor();
    expect(visited.troubles).toEqual([]);
  });

  it('shows its figures and their sentences without a script', async () => {
    await using visited = await open({ javaScriptEnabled: false });
    for (const idea of IDEAS) {
      const figure = figureOf(visited, idea);
      expect(await says(figure)).toBe(FIGURES[idea].sceneOf(defaultsOf(FIGURES[idea])).says);
    }
    expect(await visited.page.locator('figure.idea path.dots.served[d^=M]').count()).toBe(9);
  });

  it('is linked from the first page and from the sidebar', async () => {
    await using visited = await visit(site.url);
    const { page } = visited;
    expect(await page.getByRole('link', { name: 'Rate limiting, explained' }).count()).toBe(2);
    await page.goto(`${site.url}quick-start`);
    await page.locator('.VPSidebar').getByRole('link', { name: 'Rate limiting, explained' }).click();
    await page.getByRole('heading', { level: 1, name: 'Rate limiting, explained' }).waitFor();
    await page.locator('figure.idea').first().waitFor();
    expect(visited.troubles).toEqual([]);
  });
});
