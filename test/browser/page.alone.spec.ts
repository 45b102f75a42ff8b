import { describe, expect, it, jest } from '@jest/globals';
import type { Page } from 'playwright-core';
import { useBuiltApp } from './support/built-app.js';
import { SMALL } from './support/small.js';
import { Viewer } from './support/viewer.js';

jest.setTimeout(180_000);

const WIDE = { width: 1440, height: 900 };

const built = useBuiltApp(SMALL);

type Box = readonly [x: number, y: number, width: number, height: number];

/** Where everything of the stage is, by a name. */
function places(page: Page): Promise<Record<string, Box>> {
  return page.evaluate(() => {
    const fixed = '#run, .deck .now, .world > *, .world .about, .world figure > *, .world .switch, #world-figures';
    return Object.fromEntries(
      Array.from(document.querySelectorAll(fixed), (element, i) => {
        const { x, y, width, height } = element.getBoundingClientRect();
        const name = `${i} ${element.id}.${element.classList[0] ?? element.tagName}`;
        return [name, [x, y + scrollY, width, height] as const];
      }),
    );
  });
}

/** What stands beside the button, with the longest notice of a busy machine in its place. */
async function placesWhileBusy(page: Page): Promise<Record<string, Box>> {
  await page.evaluate(() => {
    const [state, busy] = ['state', 'busy'].map((id) => document.getElementById(id)!);
    busy!.firstElementChild!.textContent =
      'This machine is too busy: 0.1 of 2 cores are idle, and requests are 1,140 ms late. Do not trust these figures.';
    state!.hidden = true;
    busy!.hidden = false;
  });
  return places(page);
}

/** Pictures, numbers and words of both worlds that a person does not see without scrolling. */
function unseen(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    Array.from(document.querySelectorAll('#run, .deck .now, .world figure > *'), (element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight ? [] : [`${element.className}: ${top} to ${bottom}`];
    }).flat(),
  );
}

/** What moved by itself since the last call, and by how much. https://web.dev/articles/cls */
async function shifts(page: Page): Promise<unknown[]> {
  return page.evaluate(() => (window as unknown as { shifts: unknown[] }).shifts.splice(0));
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
  it.each([
    [390, 844],
    [1440, 900],
  ])('on %i x %i px a press shows all that moves, and nothing moves in its place', async (width, height) => {
    await using viewer = await Viewer.open(built, { viewport: { width, height }, reducedMotion: 'reduce' });
    const { page } = viewer;
    await viewer.calm();
    const ready = await places(page);
    expect(await overflow(page)).toBe(0);
    await viewer.run.click();
    await viewer.phase('surge');
    await page.evaluate(() => {
      Object.assign(window, { shifts: [] });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries() as (PerformanceEntry & { value: number; sources: { node?: Node }[] })[]) {
          const nodes = entry.sources.map(({ node }) => (node as Element | undefined)?.className ?? node?.textContent);
          (window as unknown as { shifts: unknown[] }).shifts.push([entry.value, ...nodes]);
        }
      }).observe({ type: 'layout-shift' });
    });
    expect(await unseen(page)).toEqual([]);
    expect(moved(ready, await places(page))).toEqual([]);
    await viewer.figure('left', 'failed').and(page.locator(':not([data-none])')).waitFor();
    await viewer.figure('right', 'refused').and(page.locator(':not([data-none])')).waitFor();
    expect(await unseen(page)).toEqual([]);
    expect(moved(ready, await places(page))).toEqual([]);
    expect(await overflow(page)).toBe(0);
    await viewer.run.click();
    await viewer.phase('ready');
    expect(moved(ready, await places(page))).toEqual([]);
    expect(await unseen(page)).toEqual([]);
    expect(await shifts(page)).toEqual([]);
    // Last: a notice that stands there already moves its link when its words change.
    expect(moved(ready, await placesWhileBusy(page))).toEqual([]);
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
    // The title is that of the numbers, and the words below it follow the switch.
    await page.locator('#world-right .about').getByText('Limits are off now').waitFor();
    expect(await page.locator('#world-right-title').innerText()).toBe('Partly with limits');
    for (let i = 0; i < 40 && !(await focused()).startsWith('Stop,'); i++) await keyboard.press('Shift+Tab');
    await keyboard.press('Space');
    await viewer.phase('ready');
    expect(await focused()).toBe('Start the rush');
    expect(viewer.troubles).toEqual([]);
  });
});
