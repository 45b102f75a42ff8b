import { describe, expect, it, jest } from '@jest/globals';
import type { Page } from 'playwright-core';
import { useBuiltApp } from './support/built-app.js';
import { SMALL } from './support/small.js';
import { Viewer } from './support/viewer.js';

jest.setTimeout(180_000);

const WIDE = { width: 1440, height: 900 };

const built = useBuiltApp(SMALL);

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
    await using viewer = await Viewer.open(built, { viewport });
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

  it('tells the story to a keyboard alone', async () => {
    await using viewer = await Viewer.open(built, { viewport: WIDE });
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
});
