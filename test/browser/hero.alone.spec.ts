import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { until } from '../support/faults/until.js';
import { launch } from '../../tools/browser.js';
import { openPage } from './support/open-page.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DESKTOP = { width: 1440, height: 900 };
/** The film takes 4.1 s, and a busy machine draws its last frame late. */
const FILM_MS = 5_500;
const LATE_MS = 1_000;

let browser: Browser;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hero-'));
  const loader = ['--import', './test/support/typescript-loader.js', '--disable-warning=ExperimentalWarning'];
  // The command of these tests has built the application.
  const built = promisify(execFile)(process.execPath, [...loader, 'tools/build-page.ts', 'hero', '--out', folder], {
    cwd: ROOT,
  });
  [browser] = await Promise.all([launch(), built]);
});

afterAll(async () => {
  await browser.close();
  await rm(folder, { recursive: true });
});

/** The page of the built files, without a server. It collects errors. */
class HeroPage implements AsyncDisposable {
  private constructor(
    readonly page: Page,
    readonly troubles: readonly string[],
  ) {}

  static async open(options: BrowserContextOptions = {}, url?: string): Promise<HeroPage> {
    const isOwn = ({ protocol }: URL): boolean => ['file:', 'data:', 'about:'].includes(protocol);
    const { page, troubles } = await openPage(browser, { viewport: DESKTOP, ...options }, isOwn);
    const hero = new HeroPage(page, troubles);
    await page.addInitScript(() => {
      const ask = requestAnimationFrame;
      Object.assign(window, { frames: 0 });
      window.requestAnimationFrame = (draw) => {
        (window as unknown as { frames: number }).frames++;
        return ask(draw);
      };
    });
    await page.goto(url ?? pathToFileURL(join(folder, 'index.html')).href);
    if (url === undefined) await hero.button.waitFor();
    return hero;
  }

  get button(): Locator {
    return this.page.locator('.fh-play');
  }

  get scrubber(): Locator {
    return this.page.getByRole('slider', { name: 'Time since the rush began' });
  }

  /** The three numbers of a side. */
  figures(side: 'without' | 'within'): Promise<string[]> {
    return this.page.locator(`.fh-${side} dd`).allInnerTexts();
  }

  /** The frames that were asked for. */
  frames(): Promise<number> {
    return this.page.evaluate(() => (window as unknown as { frames: number }).frames);
  }

  /** Whether no frame is asked for in a while. */
  async isIdle(): Promise<boolean> {
    const before = await this.frames();
    await this.page.waitForTimeout(400);
    return (await this.frames()) === before;
  }

  /** The pixels of a side, in the colour of the part of the picture that `token` names. */
  painted(side: 'without' | 'within', token: string): Promise<number> {
    return this.page.locator(`.fh-${side} canvas`).evaluate((canvas: HTMLCanvasElement, name) => {
      const probe = document.createElement('span');
      probe.style.color = `var(--fh-${name})`;
      canvas.closest('.fh')!.append(probe);
      const wanted = getComputedStyle(probe).color.match(/\d+/g)!.map(Number);
      probe.remove();
      // Of a copy: Chromium draws a canvas that is read often in another way.
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true })!;
      copy.drawImage(canvas, 0, 0);
      const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
      let count = 0;
      for (let i = 0; i < data.length; i += 4) {
        // Opaque: the area below the dots is not.
        if (data[i + 3]! > 250 && wanted.every((value, at) => Math.abs(data[i + at]! - value) < 3)) count++;
      }
      return count;
    }, token);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
  }
}

/** Got a ride, told “not now” at once, waited and left. */
const END = { without: ['186', '0', '942'], within: ['421', '707', '0'] };

describe('the film', () => {
  it('plays by itself once, shows red from its beginning, ends within 6 s, and then rests', async () => {
    await using hero = await HeroPage.open();
    const start = Date.now();
    await until('red', LATE_MS, async () => (await hero.painted('without', 'failed')) > 50);
    expect(await hero.button.innerText()).toBe('Pause');
    await hero.button.getByText('Replay').waitFor({ timeout: FILM_MS + LATE_MS });
    expect(Date.now() - start).toBeLessThan(FILM_MS + LATE_MS);
    expect([await hero.figures('without'), await hero.figures('within')]).toEqual([END.without, END.within]);
    expect(await hero.painted('within', 'failed')).toBe(0);
    expect(await hero.isIdle()).toBe(true);
    await hero.button.click();
    await hero.button.getByText('Pause').waitFor();
    expect(Number(await hero.scrubber.inputValue())).toBeLessThan(12);
    await hero.button.click();
    await hero.button.getByText('Play', { exact: true }).waitFor();
    expect(await hero.isIdle()).toBe(true);
    expect(hero.troubles).toEqual([]);
  });

  it('is found with a keyboard: the scrubber shows any instant and stops the film', async () => {
    await using hero = await HeroPage.open();
    const { keyboard } = hero.page;
    await hero.scrubber.focus();
    await keyboard.press('Home');
    expect(await hero.figures('without')).toEqual(['0', '0', '0']);
    for (let step = 0; step < 4; step++) await keyboard.press('ArrowRight');
    expect(await hero.scrubber.inputValue()).toBe('1');
    expect(await hero.scrubber.getAttribute('aria-valuetext')).toBe('1.0 of 15.3 seconds');
    expect(await hero.figures('without')).toEqual(['36', '0', '0']);
    await keyboard.press('End');
    expect(await hero.figures('without')).toEqual(END.without);
    expect(await hero.isIdle()).toBe(true);
    await keyboard.press('Shift+Tab');
    await keyboard.press('Space');
    await hero.button.getByText('Pause').waitFor();
    expect(hero.troubles).toEqual([]);
  });

  it('stands still at its end where motion is unwanted, with the table open', async () => {
    await using hero = await HeroPage.open({ reducedMotion: 'reduce' });
    expect(await hero.button.innerText()).toBe('Replay');
    expect([await hero.figures('without'), await hero.figures('within')]).toEqual([END.without, END.within]);
    expect(await hero.frames()).toBe(0);
    const row = hero.page.getByRole('row', { name: 'got a ride' });
    expect(await row.locator('td').allInnerTexts()).toEqual(['186 riders', '421 riders']);
    expect(await hero.page.getByRole('table').isVisible()).toBe(true);
    expect(hero.troubles).toEqual([]);
  });
});

describe('the sliders', () => {
  it('show at once what other riders, and another limit, come to', async () => {
    await using hero = await HeroPage.open({ reducedMotion: 'reduce' });
    const says = hero.page.locator('.fh-caption');
    const slider = (name: string): Locator => hero.page.getByRole('slider', { name });
    expect(await says.innerText()).toBe('235 more rides, by saying no 707 times.');
    await slider('The limit').fill('60');
    expect(await says.innerText()).toMatch(/^The limit is higher than the 37/);
    expect(await hero.painted('within', 'failed')).toBeGreaterThan(50);
    await slider('Riders').fill('30');
    expect(await says.innerText()).toMatch(/^The service keeps up/);
    expect([await hero.figures('without'), await hero.figures('within')]).toEqual([
      ['360', '0', '0'],
      ['360', '0', '0'],
    ]);
    const row = hero.page.getByRole('row', { name: 'got a ride' });
    expect(await row.locator('td').allInnerTexts()).toEqual(['360 riders', '360 riders']);
    expect(await hero.isIdle()).toBe(true);
    expect(hero.troubles).toEqual([]);
  });
});

describe('mountHero', () => {
  /** The module alone, in a page of somebody else. */
  async function mounted(html: string): Promise<HeroPage> {
    const hero = await HeroPage.open({}, 'about:blank');
    const [module, css] = await Promise.all(
      ['hero.js', 'hero.css'].map((name) => readFile(join(folder, name), 'utf8')),
    );
    await hero.page.setContent(`<!doctype html><html lang="en"><style>${css}</style><body>${html}`);
    await hero.page.evaluate(async (source) => {
      const { mountHero } = await import(`data:text/javascript;charset=utf-8,${source}`);
      Object.assign(window, { hero: mountHero(document.getElementById('here')) });
    }, encodeURIComponent(module!));
    return hero;
  }

  it('shows its end until it is in view, asks for no frame out of view, and leaves nothing behind', async () => {
    await using hero = await mounted('<div style="height: 3000px"></div><div id="here"></div>');
    expect(await hero.isIdle()).toBe(true);
    expect([await hero.figures('without'), await hero.figures('within')]).toEqual([END.without, END.within]);
    const end = Number(await hero.scrubber.inputValue());
    await hero.page.evaluate(() => scrollTo(0, 3000));
    await hero.button.getByText('Pause').waitFor();
    await until('the film', 5_000, async () => Number(await hero.scrubber.inputValue()) < end);
    await hero.page.evaluate(() => scrollTo(0, 0));
    await until('rest', 5_000, () => hero.isIdle());
    expect(await hero.button.innerText()).toBe('Pause');
    await hero.page.evaluate(() => (window as unknown as { hero: { destroy(): void } }).hero.destroy());
    expect(await hero.page.locator('#here').innerHTML()).toBe('');
    expect(hero.troubles).toEqual([]);
  });
});
