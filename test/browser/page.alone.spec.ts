import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { BuiltApp } from './support/built-app.js';
import { SMALL } from './support/small.js';
import { launch, Viewer } from './support/viewer.js';

jest.setTimeout(180_000);

const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 390, height: 844 };

let browser: Browser;
let app: BuiltApp;

beforeAll(async () => {
  [browser, app] = await Promise.all([launch(), BuiltApp.start(SMALL)]);
});

afterAll(async () => {
  await browser.close();
  await app.stop();
});

type Box = readonly [x: number, y: number, width: number, height: number];

/** Where everything of the worlds is, by a name. */
function places(page: Page): Promise<Record<string, Box>> {
  return page.evaluate(() => {
    // The warning of a busy machine takes its own place, and goes again: it is left out while the places are read.
    const { style } = document.getElementById('busy')!;
    style.display = 'none';
    const fixed = '#run, .world > *, .world .tile, .world .plot, .world .switch';
    const found = Object.fromEntries(
      Array.from(document.querySelectorAll(fixed), (element, i) => {
        const { x, y, width, height } = element.getBoundingClientRect();
        const name = `${i} ${element.id}.${element.classList[0] ?? element.tagName}`;
        return [name, [x, y + scrollY, width, height] as const];
      }),
    );
    style.display = '';
    return found;
  });
}

/** What is elsewhere. Rows that share a fraction of a pixel differ by a pixel. */
function moved(before: Record<string, Box>, after: Record<string, Box>): string[] {
  expect(Object.keys(after)).toEqual(Object.keys(before));
  return Object.entries(after).flatMap(([name, box]) => {
    const from = before[name]!;
    return box.some((value, i) => Math.abs(value - from[i]!) > 1)
      ? [`${name}: ${from.join(' ')} -> ${box.join(' ')}`]
      : [];
  });
}

const overflow = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

describe('the page', () => {
  it.each([390, 1440])('fits a width of %i px, and nothing moves before, during and after a run', async (width) => {
    const viewport = { width, height: 900 };
    await using viewer = await Viewer.open(browser, app.url, { viewport });
    const { page } = viewer;
    await viewer.calm();
    const ready = await places(page);
    expect(await overflow(page)).toBe(0);
    await viewer.run.click();
    await viewer.phase('surge');
    expect(moved(ready, await places(page))).toEqual([]);
    await viewer.tile('left', 'failed').and(page.locator('[data-bad]')).waitFor({ state: 'attached' });
    expect(moved(ready, await places(page))).toEqual([]);
    expect(await overflow(page)).toBe(0);
    await viewer.run.click();
    await viewer.phase('ready');
    expect(moved(ready, await places(page))).toEqual([]);
    expect(await overflow(page)).toBe(0);
    expect(viewer.troubles).toEqual([]);
  });

  it('keeps the place of the simulation until its code is there', async () => {
    await using viewer = await Viewer.open(browser, app.url, { viewport: NARROW });
    const { page } = viewer;
    await page.addInitScript(() => {
      const shifts = ((window as unknown as { shifts: number[] }).shifts = []) as number[];
      new PerformanceObserver((list) =>
        shifts.push(...list.getEntries().map((entry) => (entry as unknown as { value: number }).value)),
      ).observe({ type: 'layout-shift', buffered: true });
    });
    let load = (): void => {};
    const seen = new Promise<void>((resolve) => (load = resolve));
    await page.route(/hero~page~hero/, async (route) => {
      await seen;
      await route.continue();
    });
    await page.reload();
    await page.locator('body[data-phase]').waitFor({ state: 'attached' });
    await page.screenshot(); // the browser has drawn the page without it
    load();
    await viewer.live();
    await page.screenshot();
    const shifts = await page.evaluate(() => (window as unknown as { shifts: number[] }).shifts);
    // What Google calls good: https://web.dev/articles/cls
    expect(shifts.reduce((sum, one) => sum + one, 0)).toBeLessThan(0.1);
  });

  it('keeps the result of a rush that a viewer has stopped, through a reload, until the next start', async () => {
    await using viewer = await Viewer.open(browser, app.url, { viewport: WIDE });
    const { page } = viewer;
    await viewer.calm();
    await viewer.surge();
    await viewer.tile('left', 'failed').and(page.locator('[data-bad]')).waitFor();
    const left = viewer.world('left');
    await viewer.run.click();
    await viewer.phase('ready');
    for (const reload of [false, true]) {
      if (reload) await page.reload();
      await viewer.phase('ready');
      expect(await viewer.state.innerText()).toMatch(
        /^Stopped after \d+ s\. (In the rush .* failed on the left|This machine was too busy)/,
      );
      expect(await viewer.tile('left', 'failed').innerText()).toMatch(/Failed\s+\d+\s%\s+\d+ of \d+/);
    }
    // The numbers stay those of the rush, whatever the switch says now.
    await viewer.switchOf('left').click();
    await left.getByText('The rush. Since then the limits are on.').waitFor();
    expect(await left.getByRole('heading').innerText()).toBe('Without limits');
    expect(viewer.troubles).toEqual([]);
  });

  it('shows the simulation and the button of the rush at first, and all of it on two screens, or four of a phone', async () => {
    await using viewer = await Viewer.open(browser, app.url, { viewport: WIDE });
    const { page } = viewer;
    await viewer.calm();
    await page.locator('#hero canvas').first().waitFor();
    const inView = await viewer.run.evaluate((button) => button.getBoundingClientRect().bottom < innerHeight);
    expect([inView, await viewer.run.innerText()]).toEqual([true, 'Start the rush']);
    const screens = (): Promise<number> => page.evaluate(() => document.documentElement.scrollHeight / innerHeight);
    expect(await screens()).toBeLessThanOrEqual(2);
    await page.setViewportSize(NARROW);
    expect(await screens()).toBeLessThanOrEqual(4);
    for (const target of [viewer.run, viewer.switchOf('left'), viewer.switchOf('right')]) {
      expect((await target.boundingBox())!.height).toBeGreaterThanOrEqual(44);
    }
    expect(viewer.troubles).toEqual([]);
  });

  it('tells the story to a keyboard alone', async () => {
    await using viewer = await Viewer.open(browser, app.url, { viewport: WIDE });
    const { page } = viewer;
    const { keyboard } = page;
    await viewer.calm();
    const focused = (): Promise<string> =>
      page.evaluate(() => {
        const element = document.activeElement!;
        return element.getAttribute('aria-label') ?? element.textContent.trim();
      });
    const outline = (): Promise<number> =>
      page.evaluate(() => Number.parseFloat(getComputedStyle(document.activeElement!).outlineWidth));
    const walk = async (to: RegExp): Promise<string[]> => {
      const way: string[] = [];
      while (way.length < 40 && !to.test(way.at(-1) ?? '')) {
        await keyboard.press('Tab');
        way.push(await focused());
        expect([way.at(-1), (await outline()) >= 2]).toEqual([way.at(-1), true]);
      }
      expect(way.at(-1)).toMatch(to);
      return way;
    };
    const skip = await walk(/Skip/);
    expect(skip).toEqual(['Skip to the content']);
    await walk(/^Start the rush$/);
    await keyboard.press('Enter');
    await viewer.phase('surge');
    expect(await focused()).toMatch(/^Stop, \d+ s left$/); // the button keeps the focus while its words change
    expect(await walk(/Limits of the right world/)).toEqual([
      'Stop Redis',
      'Limits of the left world',
      'Limits of the right world',
    ]);
    await keyboard.press('Space');
    await page.locator('#world-right [role=switch][aria-checked=false]').waitFor();
    expect(await focused()).toBe('Limits of the right world');
    expect(await page.locator('#world-right-title').innerText()).toBe('Without limits'); // the title follows the switch
    for (let i = 0; i < 40 && !(await focused()).startsWith('Stop,'); i++) await keyboard.press('Shift+Tab');
    await keyboard.press('Space');
    await viewer.phase('ready');
    expect(await focused()).toBe('Start the rush');
    expect(viewer.troubles).toEqual([]);
  });

  it('speaks to screen readers rarely, and in sentences', async () => {
    await using viewer = await Viewer.open(browser, app.url);
    const { page } = viewer;
    await viewer.calm();
    await page.evaluate(() => {
      const spoken: [number, string][] = [];
      Object.assign(globalThis, { spoken });
      for (const live of document.querySelectorAll('[aria-live], [role=status], [role=alert], [role=log]')) {
        new MutationObserver(() => spoken.push([performance.now(), live.textContent])).observe(live, {
          childList: true,
          characterData: true,
          subtree: true,
        });
      }
    });
    await viewer.run.click();
    await viewer.phase('surge');
    await page.waitForTimeout(15_000);
    const spoken = await page.evaluate(() => (globalThis as unknown as { spoken: [number, string][] }).spoken);
    expect(spoken.length).toBeGreaterThanOrEqual(2);
    for (const [i, [at]] of spoken.slice(1).entries()) expect(at - spoken[i]![0]).toBeGreaterThan(5900);
    const all = spoken.map(([, text]) => text).join(' ');
    expect(all).toMatch(/A concert ends: riders want \d+ requests\/s of a service that can handle \d+\./);
    expect(all).toMatch(/Left: .* an error.* Right: /);
    await viewer.calm();
    expect(viewer.troubles).toEqual([]);
  });

  it('does not move with reduced motion', async () => {
    await using viewer = await Viewer.open(browser, app.url, { reducedMotion: 'reduce' });
    const { page } = viewer;
    await viewer.surge();
    expect(await page.evaluate(() => document.getAnimations().length)).toBe(0);
    await viewer.calm();
    expect(viewer.troubles).toEqual([]);
  });

  it('shows failures without colours, too', async () => {
    await using viewer = await Viewer.open(browser, app.url, { forcedColors: 'active' });
    const { page } = viewer;
    await viewer.surge();
    const tile = viewer.tile('left', 'failed');
    await tile.and(page.locator('[data-bad]')).waitFor();
    expect(await tile.evaluate((element) => getComputedStyle(element).borderTopWidth)).toBe('3px');
    expect(await tile.innerText()).toMatch(/gets? an error/); // not by colour alone
    await viewer.calm();
    expect(viewer.troubles).toEqual([]);
  });

  it('shows two viewers the same run, and the same stopped Redis', async () => {
    await using one = await Viewer.open(browser, app.url, { viewport: WIDE });
    await using other = await Viewer.open(browser, app.url, { viewport: WIDE });
    await one.surge();
    await other.phase('surge');
    expect(await other.run.innerText()).toMatch(/^Stop, \d+ s left$/);
    await one.switchOf('right').click();
    await other.page.locator('#world-right [role=switch][aria-checked=false]').waitFor();
    await other.switchOf('right').click();
    await one.page.locator('#world-right [role=switch][aria-checked=true]').waitFor();
    await one.switchOf('left').click();
    await other.page.locator('#world-left [role=switch][aria-checked=true]').waitFor();
    await one.page.locator('#redis').getByRole('button', { name: 'Stop Redis' }).click();
    for (const { page, state } of [one, other]) {
      await state.getByText(/Redis is stopped/).waitFor();
      for (const world of ['left', 'right'] as const) {
        await page
          .locator(`#world-${world} .about`)
          .getByText(/^Redis is stopped: this process admits/)
          .waitFor();
      }
    }
    await one.page.locator('#redis').getByRole('button', { name: 'Start Redis' }).click();
    await other.page.locator('#redis').getByRole('button', { name: 'Stop Redis' }).waitFor({ timeout: 20_000 });
    await other.run.click();
    await one.phase('ready');
    expect([...one.troubles, ...other.troubles]).toEqual([]);
  });

  it('does not delay the end of a process, and reconnects after a restart', async () => {
    const first = await BuiltApp.start(SMALL);
    await using viewer = await Viewer.open(browser, first.url);
    expect(await first.stop()).toBe('SIGTERM');
    await viewer.page.locator('#connection[data-state=away]').waitFor();
    await using _ = await BuiltApp.start({ ...SMALL, PORT: new URL(first.url).port });
    await viewer.live();
    expect(await viewer.page.locator('#connection').isVisible()).toBe(false);
    await viewer.phase('ready');
  });

  it('only watches in production, and says why', async () => {
    await using production = await BuiltApp.start({ NODE_ENV: 'production' });
    await using viewer = await Viewer.open(browser, production.url);
    const { page } = viewer;
    const enabled = await page.locator('button:visible:enabled:not(#hero *)').allInnerTexts();
    expect(enabled).toEqual([]);
    expect(await page.locator('#watch').innerText()).toContain('CONTROL_ROOM=on enables them');
    expect(await page.locator('#stage').isVisible()).toBe(false);
    expect(viewer.troubles).toEqual([]);
  });
});
