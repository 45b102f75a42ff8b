import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { until } from '../support/faults/until.js';
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

/** How many pixels of a world's chart have exactly a colour of the palette. */
function pixels(page: Page, world: 'left' | 'right', color: string): Promise<number> {
  return page.evaluate(
    ([id, name]) => {
      const plot = document.querySelector<HTMLCanvasElement>(`#world-${id} .plot`)!;
      const probe = document.createElement('i');
      probe.style.color = `var(${name})`;
      document.body.append(probe);
      const wanted = getComputedStyle(probe).color.match(/\d+/g)!.map(Number);
      probe.remove();
      // Reading from a copy does not change how the browser keeps the page's canvas, and warns of nothing.
      const copy = Object.assign(document.createElement('canvas'), { width: plot.width, height: plot.height });
      const context = copy.getContext('2d')!;
      context.drawImage(plot, 0, 0);
      const { data } = context.getImageData(0, 0, copy.width, copy.height);
      let count = 0;
      for (let i = 0; i < data.length; i += 4) {
        if ([0, 1, 2].every((channel) => Math.abs(data[i + channel]! - wanted[channel]!) <= 1)) count++;
      }
      return count;
    },
    [world, color] as const,
  );
}

describe('the page', () => {
  it.each([390, 820, 1440])(
    'fits a width of %i px, and nothing moves before, during and after a run',
    async (width) => {
      const viewport = { width, height: 900 };
      await using viewer = await Viewer.open(browser, app.url, { viewport });
      const { page } = viewer;
      await viewer.calm();
      const ready = await places(page);
      expect(await overflow(page)).toBe(0);
      const charts = await page.locator('.plot').evaluateAll((all) => all.map(({ clientWidth }) => clientWidth));
      expect(charts).toHaveLength(2);
      for (const chart of charts) expect(chart).toBeGreaterThan(200);
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
    },
  );

  it.each([390, 1440])('keeps the place of the simulation until its code is there: %i px', async (width) => {
    await using viewer = await Viewer.open(browser, app.url, { viewport: { width, height: 900 } });
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
    await viewer.state
      .getByText(/\d+ requests\/s hit the left service and \d+ the right one, retries included/)
      .waitFor();
    await left.getByText(/^Rides: \d+\s% served\. Estimates: \d+\s%\.$/).waitFor();
    await viewer.run.click();
    await viewer.phase('ready');
    for (const reload of [false, true]) {
      if (reload) await page.reload();
      await viewer.phase('ready');
      expect(await viewer.state.innerText()).toMatch(
        /^Stopped after \d+ s\. (In the rush .* failed on the left|This machine was too busy)/,
      );
      expect(await viewer.tile('left', 'failed').innerText()).toMatch(/Failed\s+\d+\s%\s+\d+ of \d+/);
      expect(await left.locator('.caption').innerText()).toMatch(/requests got an error[:,] .*\.$/);
      expect(await left.locator('.kinds').innerText()).toMatch(/^Rides: \d+\s% served\. Estimates: \d+\s%\.$/);
      for (const [id, title] of [
        ['left', 'Without limits'],
        ['right', 'With limits'],
      ] as const) {
        expect(await viewer.world(id).getByRole('heading').innerText()).toBe(title);
        expect(await viewer.world(id).locator('.about').innerText()).toMatch(/^The rush: .* the service$/);
      }
    }
    // The numbers stay those of the rush, whatever the switch says now.
    await viewer.switchOf('left').click();
    await left.getByText('The rush. Since then the limits are on.').waitFor();
    expect(await left.getByRole('heading').innerText()).toBe('Without limits');
    await viewer.surge();
    await left.getByText('Bypassed: every request reaches the service').waitFor();
    await viewer.calm();
    expect(viewer.troubles).toEqual([]);
  });

  it('gives each number the room that its longest words need, at any width', async () => {
    await using viewer = await Viewer.open(browser, app.url, { viewport: WIDE });
    const { page } = viewer;
    await viewer.calm();
    const cut: Record<number, string[]> = {};
    for (const width of [
      320, 360, 390, 500, 641, 700, 768, 815, 817, 820, 900, 1000, 1100, 1199, 1201, 1280, 1360, 1440, 1920,
    ]) {
      await page.setViewportSize({ width, height: 900 });
      cut[width] = await page.evaluate(() => {
        const longest: Record<string, [value: string, words: string]> = {
          waiting: ['7,500', '999\u00A0ms of work'],
          within: ['999\u00A0ms', 'noticeable'],
          failed: ['100\u00A0%', 'Nearly all get an error'],
          served: ['150/s', '100 % of capacity'],
        };
        return Array.from(document.querySelectorAll<HTMLElement>('.tile'), (tile) => {
          const [value, words] = longest[tile.dataset['tile']!]!;
          tile.dataset['bad'] = ''; // in bold
          tile.querySelector('.value')!.textContent = value;
          tile.querySelector('.words')!.textContent = words;
          const room = tile.getBoundingClientRect();
          const text = document.createRange();
          const parts = Array.from(tile.children, (part) => {
            text.selectNodeContents(part);
            return [part.textContent, text.getBoundingClientRect()] as const;
          });
          const out = parts.filter(([, { left, right }]) => left < room.left - 0.5 || right > room.right + 0.5);
          const meet = parts.filter(([, one], i) =>
            parts
              .slice(i + 1)
              .some(
                ([, other]) =>
                  one.right > other.left && other.right > one.left && one.bottom > other.bottom && one.top < other.top,
              ),
          );
          return [...out, ...meet].map(([name]) => name);
        }).flat();
      });
    }
    expect(Object.entries(cut).filter(([, names]) => names.length > 0)).toEqual([]);
    const code = await page
      .locator('.code pre')
      .evaluateAll((all) => all.map((pre) => pre.scrollWidth - pre.clientWidth));
    expect(code).toEqual([0, 0]);
    expect(viewer.troubles).toEqual([]);
  });

  it.each([390, 641, 820, 1100, 1440])('moves nothing with its words at %i px', async (width) => {
    await using viewer = await Viewer.open(browser, app.url, { viewport: { width, height: 900 } });
    const { page } = viewer;
    await viewer.calm();
    const words = {
      '#state': [
        'In the rush riders want 94 requests/s of a service that can handle 38, twice: left and right.',
        'A concert ends: 132 requests/s hit the left service and 150 the right one, retries included. Each can handle 38.',
        'A concert ends. Redis is stopped: limits go on in each process.',
        'Stopped after 12 s. In the rush 71 in 100 requests failed on the left, and none failed on the right.',
        'Stopped after 12 s. This machine was too busy: other processes used 1.6 of 2 cores. Do not trust these figures.',
      ],
      '.about': [
        'Bypassed: every request reaches the service',
        'Redis is stopped: this process admits 100/s',
        'The rush.',
        'The rush: every request reaches the service',
        'The rush: 100 requests/s reach the service',
        'The rush. Since then the limits are on.',
      ],
      '.caption': [
        'Nobody asks for a ride yet.',
        '6 in 10 are turned away. The others are served, 99\u00A0% within 180\u00A0ms. Nobody gets an error.',
        'Nearly all requests got an error: nearly all of those within 210\u00A0ms, as the queue was full, the others after up to 3.0\u00A0s.',
      ],
    };
    const moves = await page.evaluate((all) => {
      const look = (): number[] =>
        Array.from(document.querySelectorAll('#run, .world > *, .plot'), (element) => {
          const { top, height } = element.getBoundingClientRect();
          return [top, height];
        }).flat();
      return Object.entries(all).flatMap(([selector, texts]) => {
        const seen = texts.map((text) => {
          for (const element of document.querySelectorAll(selector)) element.textContent = text;
          return look();
        });
        return texts.filter((_, i) => seen[i]!.some((value, at) => Math.abs(value - seen[0]![at]!) > 1));
      });
    }, words);
    expect(moves).toEqual([]);
  });

  it('fits a window that shrinks', async () => {
    await using viewer = await Viewer.open(browser, app.url, { viewport: WIDE });
    const { page } = viewer;
    for (const width of [820, 390]) {
      await page.setViewportSize({ width, height: 900 });
      await until(`no overflow at ${width} px`, 5000, async () => (await overflow(page)) === 0);
    }
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

  it('shows the code that limits, with the numbers of this machine, and where to read on', async () => {
    await using viewer = await Viewer.open(browser, app.url, { viewport: WIDE });
    const { page } = viewer;
    await viewer.calm();
    expect(await page.locator('#code').innerText()).toMatch(
      /@RateLimit\([^]*capacity: \d+, refill: \d+[^]*by: 'global'/,
    );
    expect(await page.locator('.code').innerText()).toContain('npm install nestjs-floodgate');
    const about = await viewer.world('right').locator('.about').innerText();
    const refill = /refill: ([\d.]+),\s+by: 'global'/.exec(await page.locator('#code').innerText())![1];
    expect(about).toContain(`${Math.round(Number(refill))} requests/s reach the service`);
  });

  it('follows the theme of the system while it is open', async () => {
    await using viewer = await Viewer.open(browser, app.url, { colorScheme: 'light' });
    const card = (): Promise<string> =>
      viewer.world('left').evaluate((element) => getComputedStyle(element).backgroundColor);
    const light = await card();
    await viewer.page.emulateMedia({ colorScheme: 'dark' });
    expect(await card()).not.toBe(light);
    expect(await viewer.page.locator('.plot').count()).toBe(2);
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
    await keyboard.press('Enter');
    await page.locator('#world-right [role=switch][aria-checked=true]').waitFor();
    await walk(/The charts as a table/);
    await keyboard.press('Enter');
    await page.locator('#world-figures tbody tr').first().waitFor();
    await walk(/Send 25 to each/);

    for (let i = 0; i < 40 && !(await focused()).startsWith('Stop,'); i++) await keyboard.press('Shift+Tab');
    await keyboard.press('Space');
    await viewer.phase('ready');
    expect(await focused()).toBe('Start the rush');
    // One Redis, and a button for it beside the worlds and the pods each.
    const names = await page
      .locator('main > section:not(#pods)')
      .getByRole('button')
      .evaluateAll((buttons) => buttons.map((button) => button.getAttribute('aria-label') ?? button.textContent));
    expect(new Set(names).size).toBe(names.length);
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
    const moving = await page.locator('body *').evaluateAll(
      (elements) =>
        elements.filter((element) => {
          const { animationName, transitionProperty, transitionDuration } = getComputedStyle(element);
          return (
            animationName !== 'none' || (transitionProperty !== 'none' && Number.parseFloat(transitionDuration) > 0)
          );
        }).length,
    );
    expect(moving).toBe(0);
    expect(await page.evaluate(() => document.getAnimations().length)).toBe(0);
    await viewer.calm();
    expect(viewer.troubles).toEqual([]);
  });

  it.each(['light', 'dark'] as const)('can be read with forced colours, %s', async (colorScheme) => {
    await using viewer = await Viewer.open(browser, app.url, { colorScheme, forcedColors: 'active' });
    const { page } = viewer;
    const backgrounds = (selector: string): Promise<string[]> =>
      page.locator(selector).evaluateAll((all) =>
        all.map((one) => {
          const { backgroundColor, backgroundImage } = getComputedStyle(one);
          return `${backgroundColor} ${backgroundImage}`;
        }),
      );
    // The knob differs from its switch, and a switch that is on from one that is off.
    const knobs = await backgrounds('.world .knob');
    const switches = await backgrounds('.world .switch');
    expect(knobs).toHaveLength(2);
    for (const [i, knob] of knobs.entries()) expect(knob).not.toBe(switches[i]);
    expect(switches[0]).not.toBe(switches[1]);
    await viewer.surge();
    const tile = viewer.tile('left', 'failed');
    await tile.and(page.locator('[data-bad]')).waitFor();
    expect(await tile.evaluate((element) => getComputedStyle(element).borderTopWidth)).toBe('3px');
    expect(await tile.innerText()).toMatch(/gets? an error/); // not by colour alone
    await viewer.calm();
    expect(viewer.troubles).toEqual([]);
  });

  it('shows two viewers the same run, and a stopped Redis as a band in both worlds', async () => {
    await using one = await Viewer.open(browser, app.url, { viewport: WIDE });
    await using other = await Viewer.open(browser, app.url, { viewport: WIDE });
    await one.surge();
    await other.phase('surge');
    expect(await other.run.innerText()).toMatch(/^Stop, \d+ s left$/);
    await one.switchOf('right').click();
    await other.page.locator('#world-right [role=switch][aria-checked=false]').waitFor();
    await other.switchOf('right').click();
    await one.page.locator('#world-right [role=switch][aria-checked=true]').waitFor();
    // The script switches nothing any more, so both worlds need a person for it.
    await one.switchOf('left').click();
    await other.page.locator('#world-left [role=switch][aria-checked=true]').waitFor();

    for (const world of ['left', 'right'] as const) expect(await pixels(one.page, world, '--outage')).toBe(0);
    const pods = one.page.locator('#pods');
    await pods.getByRole('radio', { name: 'One Redis' }).check();
    await pods.getByRole('button', { name: 'Send 25 to each' }).click();
    await pods.locator('[data-newest]').waitFor({ timeout: 60_000 });
    await one.page.locator('#redis').getByRole('button', { name: 'Stop Redis' }).click();
    await pods
      .getByText(/6 of 20 \(localShare: 3\): 18 in all, and no error/)
      .first()
      .waitFor();
    for (const { page, state } of [one, other]) {
      await state.getByText(/Redis is stopped/).waitFor();
      for (const world of ['left', 'right'] as const) {
        await page
          .locator(`#world-${world} .about`)
          .getByText(/^Redis is stopped: this process admits/)
          .waitFor();
        await until(`a band in the chart ${world}`, 20_000, async () => (await pixels(page, world, '--outage')) > 20);
      }
    }
    await pods.getByRole('button', { name: 'Start Redis' }).click();
    await one.page.locator('#redis').getByRole('button', { name: 'Stop Redis' }).waitFor({ timeout: 20_000 });
    expect(await pixels(one.page, 'right', '--outage')).toBeGreaterThan(20); // the band stays in the history
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
});

describe('in production', () => {
  it('the page only watches, and says why', async () => {
    await using production = await BuiltApp.start({ NODE_ENV: 'production' });
    await using viewer = await Viewer.open(browser, production.url);
    const { page } = viewer;
    const enabled = await page.locator('button:visible:enabled:not(#hero *)').allInnerTexts();
    expect(enabled).toEqual([]);
    expect(await page.locator('#watch').innerText()).toContain('CONTROL_ROOM=on enables them');
    expect(await page.locator('#stage').isVisible()).toBe(false);
    expect(viewer.troubles).toEqual([]);
  });

  it('CONTROL_ROOM=on enables the page, and CONTROL_ROOM=off removes it', async () => {
    await using enabled = await BuiltApp.start({ ...SMALL, NODE_ENV: 'production', CONTROL_ROOM: 'on' });
    await using viewer = await Viewer.open(browser, enabled.url);
    await viewer.phase('ready');
    expect(await viewer.run.isEnabled()).toBe(true);
    await using off = await BuiltApp.start({ CONTROL_ROOM: 'off' });
    expect((await fetch(off.url)).status).toBe(404);
  });
});
