import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { brokenLinks } from '../../../site/build/check-site.js';
import { violations } from '../support/axe.js';
import { useSite } from '../support/built-site.js';

const WIDTHS = [390, 768, 1440] as const;
/** Compressed, with the font: a page as a new visitor gets it, without the picture that a guide may begin with, which may be as large. */
const FIRST_VIEW_BYTES = 200_000;
/** Of pages beside each other. */
const VISITS = 4;

const site = useSite();

describe('the pages of the site', () => {
  it('has buttons that copy without a hover, tabs of package managers, and a ring around a slider', async () => {
    await using visited = await site.visit('installation');
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
    await using visited = await site.visit('installation', { colorScheme: 'dark' });
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
    const names = await readdir(site.dist, { recursive: true });
    const pages = names.filter((name) => name.endsWith('.html') && name !== '404.html');
    expect(pages.length).toBeGreaterThan(30);
    const large: [string, number][] = [];
    const look = async (name: string): Promise<void> => {
      await using visited = await site.visit(name.replace(/(?:index)?\.html$/, ''));
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
      await using visited = await site.visit(path, { width, colorScheme });
      found.push(...(await violations(visited.page)).map((one) => `/${path}, ${width} px: ${one}`));
    }
    expect(found).toEqual([]);
  });

  it('embeds the playground where a reader comes near it: without a shift, in the theme of the page', async () => {
    for (const [width, colorScheme] of [
      [1440, 'light'],
      [390, 'dark'],
    ] as const) {
      await using visited = await site.visit('', { width, colorScheme });
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
    await using visited = await site.visit('');
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
    await using visited = await site.visit('quick-start');
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
    const read = (name: string): Promise<string> => readFile(join(site.dist, name), 'utf8');
    expect(await read('robots.txt')).toContain('Sitemap: https://floodgate-nest.github.io/floodgate/sitemap.xml');
    expect(await read('sitemap.xml')).toContain('<loc>https://floodgate-nest.github.io/floodgate/policies</loc>');
    const pages = await Promise.all(['llm.html', 'mcp.html', 'redis.html', 'index.html', 'explained.html'].map(read));
    const abouts = pages.map((page) => /<meta property="og:description" content="([^"]*)">/.exec(page)?.[1]);
    expect([new Set(abouts).size, abouts.includes(undefined)]).toEqual([5, false]);
    expect((await read('social.png')).length).toBeGreaterThan(0);
  });

  it('is there as Markdown: each page, an index and the whole', async () => {
    const names = await readdir(site.dist);
    const pages = names.filter((name) => name.endsWith('.html') && name !== '404.html');
    expect(pages.map((name) => name.replace('.html', '.md')).filter((name) => !names.includes(name))).toEqual([]);
    const read = (name: string): Promise<string> => readFile(join(site.dist, name), 'utf8');
    const [index, whole, policies] = await Promise.all(['llms.txt', 'llms-full.txt', 'policies.md'].map(read));
    const linked = [...index!.matchAll(/\(https:\/\/floodgate-nest\.github\.io\/floodgate\/([\w-]+\.md)\)/g)];
    expect(linked.length).toBeGreaterThan(20);
    expect(linked.map(([, name]) => name!).filter((name) => !names.includes(name))).toEqual([]);
    expect(whole).toContain(policies!.trim());
    expect(policies).not.toMatch(/<!--|^```ts ./m);
  });

  it('is not built with a link that leads nowhere', async () => {
    const copy = await mkdtemp(join(tmpdir(), 'site-'));
    await using _ = { [Symbol.asyncDispose]: () => rm(copy, { recursive: true }) };
    await cp(site.dist, copy, { recursive: true });
    expect(brokenLinks(copy, site.base)).toEqual([]);
    const page = await readFile(join(copy, 'plans.html'), 'utf8');
    const wrong = [
      `${site.base}no-page`,
      `${site.base}policies#no-anchor`,
      './no-file.png',
      'https://github.com/floodgate-nest/floodgate/blob/main/no.ts',
    ];
    const links = wrong.map((url) => `<a class="x" href="${url}">x</a>`).join('');
    await writeFile(join(copy, 'plans.html'), page.replace('</body>', `${links}</body>`));
    expect(brokenLinks(copy, site.base)).toEqual([
      `plans.html: there is no ${site.base}no-page`,
      `plans.html: there is no anchor ${site.base}policies#no-anchor`,
      'plans.html: there is no ./no-file.png',
      'plans.html: the repository has no no.ts',
    ]);
  });
});
