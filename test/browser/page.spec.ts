import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { until } from '../support/faults/until.js';
import { BuiltApp } from './support/built-app.js';
import { launch, Viewer } from './support/viewer.js';

const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 844 };

let browser: Browser;
let app: BuiltApp;
let pictures: string;

beforeAll(async () => {
  [browser, app] = await Promise.all([launch(), BuiltApp.start({ MATCHING_LIMIT: '20', MATCHING_BURST: '20' })]);
  pictures = await mkdtemp(join(tmpdir(), 'control-room-'));
});

afterAll(async () => {
  await browser.close();
  await app.stop();
});

/** Texts with a contrast below 4.5 to their background (WCAG 2.2, 1.4.3). */
function faint(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const numbers = (color: string): number[] => (color.match(/[\d.]+/g) ?? []).map(Number);
    const luminance = (color: string): number => {
      const [r, g, b] = numbers(color).map((value) => {
        const share = value / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
    };
    const behind = (element: Element | null): string => {
      for (let one = element; one !== null; one = one.parentElement) {
        const color = getComputedStyle(one).backgroundColor;
        if ((numbers(color)[3] ?? 1) > 0) return color;
      }
      return 'rgb(255, 255, 255)';
    };
    return Array.from(document.querySelectorAll('body *')).flatMap((element) => {
      const own = Array.from(element.childNodes).some(
        ({ nodeType, textContent }) => nodeType === 3 && textContent?.trim(),
      );
      if (!own || (element as HTMLButtonElement).disabled || element.closest('noscript') !== null) return [];
      const [one, other] = [luminance(getComputedStyle(element).color), luminance(behind(element))];
      const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
      return contrast < 4.5 ? [`${element.textContent?.trim()}: ${contrast.toFixed(2)}`] : [];
    });
  });
}

describe('the page', () => {
  it.each([
    ['light', 'wide', WIDE],
    ['light', 'narrow', NARROW],
    ['dark', 'wide', WIDE],
    ['dark', 'narrow', NARROW],
  ] as const)('can be read, %s and %s', async (colorScheme, name, viewport) => {
    await using viewer = await Viewer.open(browser, app.url, { colorScheme, viewport });
    const { page } = viewer;
    await viewer.lane('rides').getByRole('button').last().click();
    await viewer.lane('rides').locator('dl').waitFor();
    expect(await faint(page)).toEqual([]);
    const [width, light] = await page.evaluate(() => [
      document.documentElement.scrollWidth,
      getComputedStyle(document.body).backgroundColor,
    ]);
    expect(width).toBeLessThanOrEqual(viewport.width);
    const [red] = /\d+/.exec(light)!;
    expect(Number(red) > 128).toBe(colorScheme === 'light');
    const charts = await page
      .locator('.plot canvas')
      .evaluateAll((canvases) => canvases.map(({ clientWidth }) => clientWidth));
    expect(charts).toHaveLength(3);
    for (const chart of charts) expect(chart).toBeGreaterThan(200);
    await page.screenshot({ path: join(pictures, `${colorScheme}-${name}.png`) });
    expect(viewer.troubles).toEqual([]);
  });

  it('follows the theme of the system while it is open', async () => {
    await using viewer = await Viewer.open(browser, app.url, { colorScheme: 'light' });
    const card = (): Promise<string> =>
      viewer.page
        .locator('.card')
        .first()
        .evaluate((element) => getComputedStyle(element).backgroundColor);
    const light = await card();
    await viewer.page.emulateMedia({ colorScheme: 'dark' });
    expect(await card()).not.toBe(light);
    expect(await viewer.page.locator('.plot canvas').count()).toBe(3);
    expect(viewer.troubles).toEqual([]);
  });

  it('works with the keyboard, and names its controls', async () => {
    await using viewer = await Viewer.open(browser, app.url);
    const { page } = viewer;
    const focused = (): Promise<string | undefined> => page.evaluate(() => document.activeElement?.id);
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the lanes');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('concert-button');
    const outline = await viewer.concert.evaluate((element) => getComputedStyle(element).outlineWidth);
    expect(Number.parseFloat(outline)).toBeGreaterThanOrEqual(2);
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('switch');
    await page.keyboard.press('Space');
    await page.locator('#switch[aria-checked=false]').waitFor();
    await page.keyboard.press('Enter');
    await page.locator('#switch[aria-checked=true]').waitFor();
    await page.keyboard.press('Tab'); // the charts as a table
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('rider');
    await page.keyboard.press('ArrowDown');
    expect(await viewer.rider.inputValue()).toBe('rider-2');
    expect(await page.getByLabel('The rider').count()).toBe(1);
    const names = await page
      .getByRole('button')
      .evaluateAll((buttons) => buttons.map((button) => button.getAttribute('aria-label') ?? button.textContent));
    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain('Send 1: Ride request');
    expect(viewer.troubles).toEqual([]);
  });

  it('speaks to screen readers rarely, not with every figure', async () => {
    await using viewer = await Viewer.open(browser, app.url);
    await viewer.page.evaluate(() => {
      const spoken: string[] = [];
      Object.assign(globalThis, { spoken });
      new MutationObserver(() => spoken.push(document.getElementById('spoken')!.textContent)).observe(
        document.getElementById('spoken')!,
        { childList: true, characterData: true, subtree: true },
      );
    });
    await viewer.concert.click();
    const read = (): Promise<string[]> =>
      viewer.page.evaluate(() => (globalThis as unknown as { spoken: string[] }).spoken);
    await until('a word', 15_000, async () => (await read()).length > 0);
    await viewer.page.waitForTimeout(5000);
    const spoken = await read();
    expect(spoken).toHaveLength(1);
    expect(spoken[0]).toMatch(/requests per second allowed, .* rejected; matching .* % busy, waits up to .*s\./);
    await viewer.concert.click();
    expect(viewer.troubles).toEqual([]);
  });

  it('does not move with reduced motion', async () => {
    await using viewer = await Viewer.open(browser, app.url, { reducedMotion: 'reduce' });
    const moving = await viewer.page.locator('body *').evaluateAll(
      (elements) =>
        elements.filter((element) => {
          const { animationName, transitionProperty, transitionDuration } = getComputedStyle(element);
          return (
            animationName !== 'none' || (transitionProperty !== 'none' && Number.parseFloat(transitionDuration) > 0)
          );
        }).length,
    );
    expect(moving).toBe(0);
    expect(viewer.troubles).toEqual([]);
  });

  it('does not delay the end of a process, and reconnects after a restart', async () => {
    const first = await BuiltApp.start();
    await using viewer = await Viewer.open(browser, first.url);
    expect(await first.stop()).toBe('SIGTERM');
    await viewer.page.locator('#connection[data-state=away]').waitFor();
    await using _ = await BuiltApp.start({ PORT: new URL(first.url).port });
    await viewer.page.locator('#connection[data-state=live]').waitFor();
    expect(await viewer.page.locator('.lane').count()).toBe(7);
  });
});

describe('in production', () => {
  it('the page only watches, and says why', async () => {
    await using production = await BuiltApp.start({ NODE_ENV: 'production' });
    await using viewer = await Viewer.open(browser, production.url);
    const buttons = await viewer.page
      .locator('button')
      .evaluateAll((all) => all.map((one) => (one as HTMLButtonElement).disabled));
    expect(buttons.length).toBe(16);
    expect(buttons.every((disabled) => disabled)).toBe(true);
    expect(await viewer.page.locator('#controls-notice').innerText()).toContain('CONTROL_ROOM=on enables them');
    expect(viewer.troubles).toEqual([]);
  });

  it('CONTROL_ROOM=on enables the page, and CONTROL_ROOM=off removes it', async () => {
    await using enabled = await BuiltApp.start({ NODE_ENV: 'production', CONTROL_ROOM: 'on' });
    await using viewer = await Viewer.open(browser, enabled.url);
    expect(await viewer.concert.isEnabled()).toBe(true);
    await using off = await BuiltApp.start({ CONTROL_ROOM: 'off' });
    expect((await fetch(off.url)).status).toBe(404);
  });
});
