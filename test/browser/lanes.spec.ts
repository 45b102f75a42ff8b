import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Locator, Page } from 'playwright-core';
import { until } from '../support/faults/until.js';
import { BuiltApp } from './support/built-app.js';
import { launch, Viewer } from './support/viewer.js';

const SIZES = [
  [390, 'light'],
  [820, 'dark'],
  [1440, 'light'],
] as const;
const LANES = ['rides', 'location', 'history', 'stats', 'surge'];

let browser: Browser;
let app: BuiltApp;
/** Its shared bucket is smaller than each rider's. */
let narrow: BuiltApp;

beforeAll(async () => {
  browser = await launch();
  app = await BuiltApp.start();
  narrow = await BuiltApp.start({ MATCHING_LIMIT: '1', MATCHING_BURST: '5' });
});

afterAll(async () => {
  await browser.close();
  await app.stop();
  await narrow.stop();
});

const outcome = (viewer: Viewer, lane: string): Locator => viewer.lane(lane).locator('.outcome');
const sendOne = (viewer: Viewer, lane: string): Locator => viewer.lane(lane).locator('.send').first();
const sendAll = (viewer: Viewer, lane: string): Locator => viewer.lane(lane).locator('.send').last();

async function sendMany(viewer: Viewer, lane: string): Promise<void> {
  const answer = viewer.page.waitForResponse('**/control-room/trials');
  await sendAll(viewer, lane).click();
  await answer;
  await outcome(viewer, lane).locator('.tally').waitFor();
}

/** Keeps the answers to trials until it is called. */
async function holdTrials(page: Page): Promise<() => void> {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route('**/control-room/trials', async (route) => {
    await held;
    await route.continue();
  });
  return release;
}

/** The places of everything that must not move, by a name. */
function places(page: Page): Promise<Record<string, string>> {
  return page.evaluate(() => {
    const fixed = '.lanes-head, .lane, .shared-policy, .about > *, .policy > *, .also, .routes > *, .send, .outcome';
    return Object.fromEntries(
      Array.from(document.querySelectorAll(`#lanes :is(${fixed})`), (element, i) => {
        const { x, y, width, height } = element.getBoundingClientRect();
        const box = [x, y + scrollY, width, height].map((value) => value.toFixed(1)).join(' ');
        return [`${i} ${element.tagName} ${element.classList[0]}`, box];
      }),
    );
  });
}

/** The left edge of the text behind the figure of a caption. */
function textBehindFigure(policy: Locator): Promise<number> {
  return policy.locator('.amount').evaluate((amount) => {
    const range = document.createRange();
    range.selectNode(amount.childNodes[1]!);
    return range.getBoundingClientRect().left;
  });
}

describe('the lanes', () => {
  it('have one row for each algorithm, and the bucket that all clients share once', async () => {
    await using viewer = await Viewer.open(browser, app.url);
    const { page } = viewer;
    expect(await page.locator('#lanes .lane h3').allInnerTexts()).toEqual([
      'Requests of riders',
      'Driver locations',
      'Trip history',
      'Zone statistics',
      'Surge pricing',
    ]);
    expect(await page.locator('#lanes [data-policy=matching]').count()).toBe(1);
    const shared = page.locator('#shared-matching');
    await shared.getByText('60 of 60 tokens').waitFor();
    expect(await shared.innerText()).toContain('Ride request, Fare estimate, and Nearby drivers');
    await viewer.lane('rides').getByRole('link', { name: 'matching' }).press('Enter');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('shared-matching');
    expect(viewer.troubles).toEqual([]);
  });

  it('show the route that a viewer chooses with the keyboard, and drop what was sent to the other', async () => {
    await using viewer = await Viewer.open(browser, app.url);
    const { page } = viewer;
    const rides = viewer.lane('rides');
    await sendMany(viewer, 'rides');
    await rides.getByRole('radio', { name: 'Ride request' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    expect(await rides.getByRole('radio', { name: 'Nearby drivers' }).isChecked()).toBe(true);
    expect(await rides.locator('code').first().innerText()).toBe('GET /api/drivers/nearby');
    await rides.getByText('30 of 30 tokens').waitFor();
    expect(await outcome(viewer, 'rides').innerText()).toBe('');
    const button = rides.getByRole('button', { name: 'Send 40: Nearby drivers' });
    await button.focus();
    await page.keyboard.press('Enter');
    await rides.getByText('429 Too Many Requests').waitFor();
    expect(await outcome(viewer, 'rides').innerText()).toMatch(/X-RateLimit-Limit\s*30/);
    expect(viewer.troubles).toEqual([]);
  });

  it.each(SIZES)('do not move when results and figures come and go, %i px wide, %s', async (width, colorScheme) => {
    const viewport = { width, height: 900 };
    await using viewer = await Viewer.open(browser, app.url, { viewport, colorScheme, reducedMotion: 'reduce' });
    const { page } = viewer;
    const rider = viewer.lane('rides').locator('[data-policy=rider]');
    await rider.getByText('20 of 20 tokens').waitFor();
    await rider.getByText('own numbers').waitFor({ state: 'attached' }); // the account was read
    const before = await places(page);
    expect(Object.keys(before).length).toBeGreaterThan(50);
    const text = await textBehindFigure(rider);
    let behind = 0;
    for (const lane of LANES) {
      await sendMany(viewer, lane);
      await sendMany(viewer, lane);
      expect(await outcome(viewer, lane).innerText()).toContain('X-RateLimit-Reset');
      if (lane === 'rides') behind = await textBehindFigure(rider);
    }
    expect(behind).toBeCloseTo(text, 1);
    expect(await places(page)).toEqual(before);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    for (const lane of LANES) await outcome(viewer, lane).getByRole('button').click();
    expect(await places(page)).toEqual(before);
    expect(viewer.troubles).toEqual([]);
  });

  it('keep the choice and the results when the page connects again', async () => {
    await using first = await BuiltApp.start();
    await using viewer = await Viewer.open(browser, first.url);
    const { page } = viewer;
    await viewer.rider.selectOption('rider-2');
    await viewer.lane('rides').getByRole('radio', { name: 'Nearby drivers' }).check();
    await sendMany(viewer, 'rides');
    const tally = await outcome(viewer, 'rides').locator('.tally').innerText();
    const ended = page.waitForRequest('**/control-room/events');
    await first.stop();
    await using _ = await BuiltApp.start({ PORT: new URL(first.url).port });
    await ended;
    await viewer.live();
    await viewer.lane('rides').getByText('60 of 60 tokens').waitFor();
    expect(await viewer.rider.inputValue()).toBe('rider-2');
    expect(await viewer.lane('rides').getAttribute('data-route')).toBe('nearby');
    expect(await outcome(viewer, 'rides').locator('.tally').innerText()).toBe(tally);
  });

  it('say why their buttons are disabled where the process only watches', async () => {
    await using watch = await BuiltApp.start({ CONTROL_ROOM: 'watch' });
    await using viewer = await Viewer.open(browser, watch.url);
    const buttons = await viewer.page
      .locator('#lanes .send')
      .evaluateAll((all) => all.map((button) => button.matches(':disabled')));
    expect(buttons).toEqual(LANES.flatMap(() => [true, true]));
    expect(await viewer.page.locator('#lanes .explains').innerText()).toContain('CONTROL_ROOM=on enables them');
    await viewer.lane('rides').getByRole('radio', { name: 'Nearby drivers' }).check();
    await viewer.lane('rides').getByText('30 of 30 tokens').waitFor();
    expect(viewer.troubles).toEqual([]);
  });

  it('say nothing in the second line of an idle window, and keep its place', async () => {
    await using fresh = await BuiltApp.start();
    await using viewer = await Viewer.open(browser, fresh.url);
    for (const lane of ['history', 'stats', 'surge']) {
      const caption = viewer.lane(lane).locator('.caption');
      await until('a caption', 5000, async () => (await caption.innerText()).startsWith('0 of'));
      expect(await caption.locator('.rest').textContent()).toBe('');
      const { height } = (await caption.boundingBox())!;
      expect(height).toBeGreaterThan(36);
    }
  });
});

describe('a send', () => {
  it('that is slow turns a spinner after 300 ms, and the button stays usable', async () => {
    await using viewer = await Viewer.open(browser, app.url);
    const { page } = viewer;
    const release = await holdTrials(page);
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    const button = sendOne(viewer, 'stats');
    const spinner = button.locator('.spinner');
    const visible = (): Promise<string> => spinner.evaluate((element) => getComputedStyle(element).visibility);
    const before = await places(page);
    await button.focus();
    await page.keyboard.press('Space');
    await page.clock.runFor(290);
    expect([await button.getAttribute('aria-busy'), await visible()]).toEqual([null, 'hidden']);
    await page.clock.runFor(20);
    expect([await button.getAttribute('aria-busy'), await visible()]).toEqual(['true', 'visible']);
    expect(await sendAll(viewer, 'stats').getAttribute('aria-busy')).toBe(null);
    expect([await button.isEnabled(), await button.evaluate((element) => element === document.activeElement)]).toEqual([
      true,
      true,
    ]);
    expect(await places(page)).toEqual(before);
    release();
    await outcome(viewer, 'stats').locator('.tally').waitFor();
    expect([await button.getAttribute('aria-busy'), await visible()]).toEqual([null, 'hidden']);
    expect(viewer.troubles).toEqual([]);
  });

  it('shows three dots in the place of the spinner with reduced motion', async () => {
    await using viewer = await Viewer.open(browser, app.url, { reducedMotion: 'reduce' });
    const release = await holdTrials(viewer.page);
    await sendOne(viewer, 'stats').click();
    await viewer.page.locator('.send[aria-busy=true]').waitFor();
    const [animation, content] = await sendOne(viewer, 'stats')
      .locator('.spinner')
      .evaluate((element) => [getComputedStyle(element).animationName, getComputedStyle(element, '::before').content]);
    expect([animation, content]).toEqual(['none', '"…"']);
    release();
    await outcome(viewer, 'stats').locator('.tally').waitFor();
  });

  it('of another rider, or before a newer one, shows nothing', async () => {
    await using viewer = await Viewer.open(browser, app.url);
    const release = await holdTrials(viewer.page);
    const answers = viewer.page.waitForResponse('**/control-room/trials');
    await sendOne(viewer, 'history').click();
    await viewer.rider.selectOption('rider-2');
    release();
    await (await answers).finished();
    await sendOne(viewer, 'stats').click();
    await outcome(viewer, 'stats').locator('.tally').waitFor();
    expect(await outcome(viewer, 'history').innerText()).toBe('');
  });

  it('that the server rejects shows the reason', async () => {
    await using viewer = await Viewer.open(browser, app.url);
    await viewer.page.route('**/control-room/trials', (route) =>
      route.fulfill({ status: 500, json: { message: 'at most 24 trials can wait; try again later' } }),
    );
    await sendOne(viewer, 'stats').click();
    await outcome(viewer, 'stats').getByText('at most 24 trials can wait').waitFor();
    await viewer.page.keyboard.press('Escape');
    expect(await outcome(viewer, 'stats').innerText()).toBe('');
  });
});

describe('a result', () => {
  it.each([
    ['rider', () => app, 'refused by “rider”, for rider-1 alone'],
    ['matching', () => narrow, 'refused by “matching”, shared by all clients'],
  ] as const)('names the policy %s that refused, with counts and Retry-After', async (_name, target, refuser) => {
    await using viewer = await Viewer.open(browser, target().url);
    await sendMany(viewer, 'rides');
    const text = await outcome(viewer, 'rides').innerText();
    expect(text).toContain(refuser);
    const [, served, refused] = /(\d+) × 200 OK\s+(\d+) × 429 Too Many Requests/.exec(text)!;
    expect(Number(served) + Number(refused)).toBe(30);
    expect(text).toMatch(/Retry-After\s+\d+\s+(retry in \d+ s|a retry can pass)/);
    expect(viewer.troubles).toEqual([]);
  });

  it('is dismissed with its button or Escape, and the focus stays in the lane', async () => {
    await using viewer = await Viewer.open(browser, app.url);
    const { page } = viewer;
    await sendMany(viewer, 'stats');
    const close = viewer.lane('stats').getByRole('button', { name: 'Dismiss the result: Zone statistics' });
    await close.focus();
    await page.keyboard.press('Enter');
    expect(await outcome(viewer, 'stats').innerText()).toBe('');
    expect(await close.isVisible()).toBe(false);
    expect(await sendOne(viewer, 'stats').evaluate((button) => button === document.activeElement)).toBe(true);

    await sendMany(viewer, 'stats');
    await sendMany(viewer, 'history');
    await page.keyboard.press('Escape'); // the focus is on the button that was pressed last
    expect(await outcome(viewer, 'history').innerText()).toBe('');
    expect(await outcome(viewer, 'stats').innerText()).not.toBe('');
    expect(viewer.troubles).toEqual([]);
  });

  it('counts down to the reset, and says when it has come', async () => {
    await using viewer = await Viewer.open(browser, narrow.url);
    const { page } = viewer;
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    await sendMany(viewer, 'surge');
    await sendMany(viewer, 'surge');
    const [reset, retry] = [0, 1].map((i) => outcome(viewer, 'surge').locator('.live').nth(i));
    const secondsOf = async (live: Locator | undefined): Promise<number> =>
      Number(/in (\d+) s/.exec(await live!.innerText())![1]);
    const [first, firstRetry] = [await secondsOf(reset), await secondsOf(retry)];
    expect(await reset!.innerText()).toBe(`resets in ${first} s`);
    expect(first).toBeGreaterThan(50);
    // The page draws with a timer of before the clock's installation.
    await page.clock.runFor(12_000);
    await until('the countdown', 5000, async () => (await secondsOf(reset)) === first - 12);
    expect(await secondsOf(retry)).toBe(firstRetry - 12);
    await page.clock.runFor(60_000);
    await until('the reset', 5000, async () => (await reset!.innerText()) === 'has reset');
    expect(await retry!.innerText()).toBe('a retry can pass');
  });

  it('is announced once, and no figure that ticks is', async () => {
    await using viewer = await Viewer.open(browser, app.url);
    const { page } = viewer;
    const spoken = page.locator('.lanes-spoken');
    expect(await spoken.getAttribute('role')).toBe('status');
    await page.evaluate(() => {
      const said: string[] = [];
      Object.assign(globalThis, { said });
      for (const live of document.querySelectorAll('#lanes :is([role=status], [aria-live])')) {
        new MutationObserver(() => said.push(live.textContent)).observe(live, {
          childList: true,
          characterData: true,
          subtree: true,
        });
      }
    });
    await sendMany(viewer, 'rides');
    const live = outcome(viewer, 'rides').locator('.live').first();
    const at = await live.innerText();
    await until('a tick of the reset', 10_000, async () => (await live.innerText()) !== at);
    const said = await page.evaluate(() => (globalThis as unknown as { said: string[] }).said);
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(
      /^Ride request: \d+ × 200 OK, \d+ × 429 Too Many Requests; refused by “rider”, for rider-1 alone; retry after 1 s\.$/,
    );
    expect(viewer.troubles).toEqual([]);
  });
});

describe('marks of one instant', () => {
  /** A page that has the module of the places. */
  let module: Viewer;

  beforeAll(async () => {
    module = await Viewer.open(browser, app.url);
  });

  afterAll(() => module[Symbol.asyncDispose]());

  it('are drawn side by side', async () => {
    await using fresh = await BuiltApp.start();
    await using viewer = await Viewer.open(browser, fresh.url);
    await sendMany(viewer, 'surge');
    const marks = viewer.lane('surge').locator('.mark');
    await until('three marks', 5000, async () => (await marks.count()) === 3);
    const boxes = await marks.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON() as DOMRect));
    for (const { width } of boxes) expect(width).toBeGreaterThan(3);
    for (const [i, { left }] of boxes.slice(1).entries()) expect(left).toBeGreaterThan(boxes[i]!.right);
    expect(viewer.troubles).toEqual([]);
  });

  const [NOW, WINDOW] = [1_000_000, 60_000];
  const times = (count: number, at: number): number[] => Array.from({ length: count }, () => at);

  it.each([
    ['one', [NOW - 30_000], 1, []],
    ['six', times(6, NOW - 30_000), 6, []],
    ['ten', times(10, NOW - 30_000), 6, [4]],
    ['five that are about to leave', times(5, NOW - 59_999), 5, []],
    ['two that have left, and one', [NOW - 60_000, NOW - 70_000, NOW], 1, []],
    ['three of a clock that is ahead', [NOW, NOW + 5, NOW + 9], 3, []],
    ['three bursts', [40_001, 20_000, 0].flatMap((before) => times(9, NOW - before)), 18, [3, 3, 3]],
    ['four bursts', [45_000, 30_000, 15_000, 0].flatMap((before) => times(9, NOW - before)), 12, [6, 6, 6, 6]],
    ['one a second', Array.from({ length: 59 }, (_, i) => NOW - 1000 * (59 - i)), 36, [23]],
    ['a thousand', Array.from({ length: 1000 }, (_, i) => NOW - 59 * (1000 - i)), 36, [964]],
  ] as const)('have places of their own, and a text counts the others: %s', async (_name, marks, drawn, more) => {
    const { placed, slot } = await module.page.evaluate(
      async ([instants, now, windowMs]) => {
        const url = '/control-room/files/lane-marks.js';
        const { placed: place, SLOT } = await import(url);
        return {
          placed: place(instants, now, windowMs) as { readonly at: number; readonly more: number }[],
          slot: SLOT as number,
        };
      },
      [[...marks], NOW, WINDOW] as const,
    );
    expect(placed.filter((mark) => mark.more === 0)).toHaveLength(drawn);
    expect(placed.flatMap((mark) => (mark.more > 0 ? [mark.more] : []))).toEqual(more);
    const rights = [0, ...placed.map(({ at }) => at)];
    for (const [i, mark] of placed.entries()) {
      expect(mark.at - rights[i]!).toBeGreaterThanOrEqual((mark.more > 0 ? 5 : 1) * slot - 1e-9);
    }
    expect(rights.at(-1)).toBeLessThanOrEqual(1 + 1e-9);
  });

  it('stays at its instant while it is alone', async () => {
    const at = await module.page.evaluate(async () => {
      const url = '/control-room/files/lane-marks.js';
      const { placed } = await import(url);
      return (placed([70_000, 100_000], 120_000, 60_000) as { readonly at: number }[]).map((mark) => mark.at);
    });
    expect(at).toEqual([expect.closeTo(1 / 6), expect.closeTo(2 / 3)]);
  });
});

/** The contrast of an element's text to what is behind it (WCAG 2.2, 1.4.3). */
function contrastOf(element: Locator): Promise<number> {
  return element.evaluate((text) => {
    const numbers = (color: string): number[] => (color.match(/[\d.]+/g) ?? []).map(Number);
    const luminance = (color: string): number => {
      const [r, g, b] = numbers(color).map((value) => {
        const share = value / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
    };
    let behind: Element | null = text;
    while (behind !== null && numbers(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
    const [one, other] = [
      luminance(getComputedStyle(text).color),
      luminance(behind === null ? 'rgb(255, 255, 255)' : getComputedStyle(behind).backgroundColor),
    ];
    return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  });
}

describe('the colours', () => {
  it.each(['light', 'dark'] as const)('of every button can be read under the pointer, %s', async (colorScheme) => {
    await using viewer = await Viewer.open(browser, app.url, { colorScheme });
    for (const lane of LANES) await sendMany(viewer, lane);
    const buttons = await viewer.page.locator('#lanes :is(button, .routes label)').all();
    expect(buttons).toHaveLength(3 * LANES.length + 3);
    for (const button of buttons) {
      await button.hover();
      const text = (await button.locator('span').count()) > 0 ? button.locator('span').first() : button;
      expect(await contrastOf(text)).toBeGreaterThanOrEqual(4.5);
    }
  });

  it.each(['light', 'dark'] as const)(
    'of levels, marks and hands are there with forced colours, %s',
    async (colorScheme) => {
      await using viewer = await Viewer.open(browser, app.url, { colorScheme, forcedColors: 'active' });
      const { page } = viewer;
      for (const lane of LANES) await sendMany(viewer, lane);
      const [text, canvas] = await page.evaluate(() => {
        const probe = document.createElement('i');
        document.body.append(probe);
        return ['CanvasText', 'Canvas'].map((color) => {
          probe.style.cssText = `forced-color-adjust: none; color: ${color}`;
          return getComputedStyle(probe).color;
        });
      });
      expect(text).not.toBe(canvas);
      const style = (selector: string, name: string): Promise<string> =>
        page
          .locator(`#lanes ${selector}`)
          .first()
          .evaluate((element, property) => getComputedStyle(element).getPropertyValue(property), name);
      expect(await style('.bucket .level', 'fill')).toBe(text);
      expect(await style('.bucket .outline', 'stroke')).toBe(text);
      for (const filled of ['.fill', '.mark', '.counter .current']) {
        expect([filled, await style(filled, 'background-color')]).toEqual([filled, text]);
      }
      for (const filled of ['.counter .previous', '.waiting']) {
        expect([filled, await style(filled, 'background-image')]).toEqual([filled, expect.stringContaining(text!)]);
      }
      expect(await style('.track', 'border-top-color')).toBe(text);
      for (const line of ['.hand', '.routes input:checked + span']) {
        const color = await style(line, 'background-color');
        expect([text, canvas]).not.toContain(color);
      }
      expect(await style('.close', 'border-top-style')).toBe('solid');
      expect(viewer.troubles).toEqual([]);
    },
  );
});
