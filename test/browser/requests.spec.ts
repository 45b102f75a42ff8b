import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import type { AnsweredRequest, SentRequest } from '../../libs/control-room/stage/surge-tick.js';
import { until } from '../support/faults/until.js';
import { RequestsPage, RequestsServer } from './support/requests-page.js';
import { launch } from './support/viewer.js';

const LIMIT_MS = 15_000;
/** A canvas rounds the channels of colours, 0 to 255. */
const ROUNDING = 4;

let browser: Browser;
let server: RequestsServer;
let opened: RequestsPage;

beforeAll(async () => {
  [browser, server] = await Promise.all([launch(), RequestsServer.start()]);
});

afterAll(async () => {
  await browser.close();
  await server[Symbol.asyncDispose]();
});

async function open(options: BrowserContextOptions = {}): Promise<RequestsPage> {
  opened = await RequestsPage.open(browser, server.url, options);
  return opened;
}

afterEach(async () => {
  const { troubles } = opened;
  await opened[Symbol.asyncDispose]();
  if (troubles.length > 0) throw new Error(`The console is not empty:\n${troubles.join('\n')}`);
});

const ride = (id: number, atMs: number, rider = `rider-${id}`): SentRequest => ({
  id,
  atMs,
  route: 'rides',
  rider,
  isFollowed: rider === 'rider-7',
});

const served = (id: number, atMs: number): AnsweredRequest => ({
  id,
  atMs,
  outcome: 'served',
  status: 201,
  retryAfterMs: null,
  policy: null,
});

const refused = (id: number, atMs: number): AnsweredRequest => ({
  id,
  atMs,
  outcome: 'refused',
  status: 429,
  retryAfterMs: 1400,
  policy: 'matching',
});

const failed = (id: number, atMs: number, status = 503): AnsweredRequest => ({
  id,
  atMs,
  outcome: 'failed',
  status,
  retryAfterMs: null,
  policy: null,
});

/** A request of each outcome, in the timeline. */
async function outcomes(room: RequestsPage): Promise<void> {
  const sent = [ride(1, 1000), ride(2, 1000), ride(3, 1000), ride(7, 1000, 'rider-7')];
  const answered = [served(1, 1120), refused(2, 1003), failed(3, 4000), failed(7, 2500, 0)];
  await room.tick(sent, answered, { atMs: 4200 });
  await until('the timeline has them', LIMIT_MS, async () => Object.keys(await room.places()).length === 4);
}

describe('a request under the pointer', () => {
  it('says what became of it, while the picture stands still', async () => {
    const room = await open();
    const { page } = room;
    const at = room.atMs;
    await room.tick([ride(1, at), ride(2, at)], []);
    await room.rest(1, 2);
    const { x, y } = (await room.places())[1]!;
    await page.mouse.move(x + 3, y - 3);
    expect(await room.card()).toBe('no answer yet Route rides Rider rider-1');
    expect(await page.locator('.requests-paused').isVisible()).toBe(true);

    await room.tick([ride(3, room.atMs)], [failed(1, at + 3004)]);
    expect(await room.card()).toBe('503 failed after 3.0 s Route rides Rider rider-1');
    await delay(500);
    expect(Object.keys(await room.places())).toEqual(['1', '2']);

    // The pointer can be moved onto the card.
    const card = (await page.locator('.requests-card').boundingBox())!;
    await page.mouse.move(card.x + card.width / 2, card.y + card.height / 2, { steps: 5 });
    await delay(400);
    expect(await room.card()).toContain('503 failed');

    await page.mouse.move(5, 5);
    await page.locator('.requests-card').waitFor({ state: 'hidden' });
    await until('the picture moves again', LIMIT_MS, async () => '3' in (await room.places()));
    expect(await page.locator('.requests-paused').isVisible()).toBe(false);
  });

  it('can be caught in motion', async () => {
    const room = await open();
    let id = 100; // behind the followed rider's
    await until('a card', LIMIT_MS, async () => {
      const at = room.atMs;
      const sent = Array.from({ length: 20 }, (_, i) => ride(++id, at - i * 10));
      await room.tick(
        sent,
        sent.map((request) => refused(request.id, request.atMs + 3)),
      );
      const [place] = Object.values(await room.places());
      if (place !== undefined) await room.page.mouse.move(place.x, place.y);
      return room.page.locator('.requests-card').isVisible();
    });
    const card = await room.card();
    expect(card.replace(/rider-\d+$/, 'rider-N')).toBe(
      '429 refused in 3 ms Retry-After 2 s Refused by policy matching Route rides Rider rider-N',
    );
    await room.page.keyboard.press('Escape');
    expect(await room.page.locator('.requests-card').isVisible()).toBe(false);
  });

  it('opens with a touch, and closes with one beside it', async () => {
    const room = await open({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 760 } });
    await room.tick([ride(1, room.atMs)], []);
    await room.rest(1);
    const { x, y } = (await room.places())[1]!;
    await room.page.touchscreen.tap(x + 8, y - 8);
    expect(await room.card()).toContain('no answer yet');
    await room.page.touchscreen.tap(200, 700);
    await room.page.locator('.requests-card').waitFor({ state: 'hidden' });
  });
});

describe('a keyboard alone', () => {
  it('walks from the newest request to the oldest, in one tab stop', async () => {
    const room = await open();
    const { page } = room;
    const at = room.atMs;
    await room.tick([ride(1, at - 20), ride(7, at - 10, 'rider-7'), ride(3, at)], []);
    await room.rest(1, 3, 7);
    await room.tick([], [failed(7, at + 2990, 0), failed(1, at + 2980)]);
    const list = page.getByRole('listbox', { name: 'With limits: requests, newest first' });
    const selected = async (): Promise<string> => {
      const id = await list.getAttribute('aria-activedescendant');
      const option = page.locator(`#${id}`);
      expect(await option.getAttribute('aria-selected')).toBe('true');
      return option.innerText();
    };
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    expect(await list.evaluate((element) => element === document.activeElement)).toBe(true);
    expect(await room.card()).toBe('no answer yet Route rides Rider rider-3 ← → other requests · Esc closes');
    expect(await selected()).toBe('no answer yet. Route: rides. Rider: rider-3');
    expect(await list.getByRole('option').count()).toBe(3);

    await page.keyboard.press('ArrowRight');
    expect(await room.card()).toContain('no answer: the rider left after 3.0 s Route rides Rider rider-7, followed');
    expect(await selected()).toBe('no answer: the rider left after 3.0 s. Route: rides. Rider: rider-7, followed');
    await page.keyboard.press('End');
    expect(await room.card()).toContain('503 failed after 3.0 s');
    await page.keyboard.press('ArrowDown');
    expect(await selected()).toContain('rider-1');
    await page.keyboard.press('Home');
    expect(await selected()).toContain('rider-3');

    await page.keyboard.press('Escape');
    expect(await page.locator('.requests-card').isVisible()).toBe(false);
    expect(await list.evaluate((element) => element === document.activeElement)).toBe(true);
    await until('the failed ones leave', LIMIT_MS, async () => Object.keys(await room.places()).join() === '3');
    await page.keyboard.press('ArrowLeft');
    expect(await selected()).toContain('rider-3');
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('after');
    expect(await page.locator('.requests-card').isVisible()).toBe(false);
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Shift+Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('before');
  });
});

describe('with reduced motion', () => {
  it('is a timeline in which nothing moves', async () => {
    const room = await open({ reducedMotion: 'reduce' });
    await outcomes(room);
    const { page } = room;
    const before = await room.places();
    const heights = [1, 2, 3].map((id) => before[id]!.y);
    expect(heights).toEqual(heights.toSorted((a, b) => a - b));
    await delay(1200);
    await room.tick([], [], { atMs: 5400 });
    expect(await room.places()).toEqual(before);
    expect((await page.locator('.requests-axis').innerText()).split(/\s*\n\s*/)).toEqual(['0 s', '6 s', '12 s']);
    expect(await page.locator('.requests-rows').isVisible()).toBe(true);
    expect(await page.locator('.requests-gate').isVisible()).toBe(false);

    await page.mouse.move(before[2]!.x, before[2]!.y);
    expect(await room.card()).toBe(
      '429 refused in 3 ms Retry-After 2 s Refused by policy matching Route rides Rider rider-2',
    );
    await page.mouse.move(before[1]!.x, before[1]!.y);
    await until('the other card', LIMIT_MS, async () => (await room.card()).startsWith('201 served in 120 ms'));
    await page.mouse.move(5, 5);
    await page.locator('.requests-card').waitFor({ state: 'hidden' });
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    expect(await room.card()).toContain('no answer: the rider left after 1.5 s Route rides Rider rider-7, followed');
  });

  it('follows the setting while the page is open', async () => {
    const room = await open();
    await room.tick([ride(1, room.atMs)], []);
    await room.rest(1);
    await room.page.emulateMedia({ reducedMotion: 'reduce' });
    await room.page.locator('.requests-rows').waitFor();
    expect(await room.places()).toEqual({});
    await room.page.emulateMedia({ reducedMotion: 'no-preference' });
    await room.page.locator('.requests-gate').waitFor();
    expect(Object.keys(await room.places())).toEqual(['1']);
  });
});

describe('the colours', () => {
  it.each(['light', 'dark'] as const)('are those of the palette, %s', async (colorScheme) => {
    const room = await open({ colorScheme, reducedMotion: 'reduce' });
    await outcomes(room);
    const painted = (): Promise<number[]> =>
      Promise.all([
        room.difference(1, 'var(--served)'),
        room.difference(2, 'var(--refused)'),
        room.difference(3, 'var(--failed)'),
      ]);
    expect(Math.max(...(await painted()))).toBeLessThan(ROUNDING);
    const before = await room.pixel(3);
    await room.page.emulateMedia({ colorScheme: colorScheme === 'light' ? 'dark' : 'light' });
    await until('the other theme', LIMIT_MS, async () => Math.max(...(await painted())) < ROUNDING);
    expect(await room.pixel(3)).not.toBe(before);
  });

  it('are those of the system when they are forced, and the shapes differ', async () => {
    const room = await open({
      colorScheme: 'dark',
      forcedColors: 'active',
      reducedMotion: 'reduce',
      deviceScaleFactor: 2,
    });
    await outcomes(room);
    const painted = await Promise.all([
      room.difference(1, 'Highlight'),
      room.difference(2, 'GrayText'),
      room.difference(3, 'CanvasText'),
    ]);
    expect(Math.max(...painted)).toBeLessThan(ROUNDING);
    // A disc has no corner, a square has one, and a cross has nothing beside its middle.
    const isPainted = async (id: number, x: number, y: number): Promise<boolean> =>
      (await room.pixel(id, x, y)) !== 'nothing';
    const shapes = [1, 2, 3].map(async (id) => [await isPainted(id, 2.4, 2.4), await isPainted(id, 0, -2.4)]);
    const [disc, square, cross] = await Promise.all(shapes);
    expect(disc).toEqual([false, true]);
    expect(square).toEqual([true, true]);
    expect(cross).toEqual([true, false]);
  });
});

describe('the picture', () => {
  it('says how many requests it draws, and whether limits are enforced', async () => {
    const room = await open();
    const { page } = room;
    await page.getByText('During a surge, each request falls').waitFor();
    const text = async (name: string): Promise<string> => page.locator(`.requests-${name}`).innerText();
    await room.tick([ride(1, room.atMs)], []);
    expect([await text('share'), await text('limits'), await text('waiting')]).toEqual(['', 'limits', '34 waiting']);
    expect(await page.locator('.requests-idle').isVisible()).toBe(false);
    await room.tick([], [], { oneOf: 5, enforced: false });
    expect([await text('share'), await text('limits')]).toEqual(['1 of 5 requests drawn', 'no limits']);
    expect(await text('followed')).toBe('rider-7, followed');
    await page.evaluate(() => window.world.restart());
    expect(await room.places()).toEqual({});
    expect(await page.locator('.requests-idle').isVisible()).toBe(true);
  });

  it('begins again with a run whose clock is earlier', async () => {
    const room = await open();
    await room.tick([ride(1, 50_000)], [], { atMs: 50_000 });
    await room.tick([ride(1, 100)], [refused(1, 103)], { atMs: 200 });
    const places = await until('the request falls', LIMIT_MS, async () => {
      const seen = Object.keys(await room.places());
      return seen.length > 0 && seen;
    });
    expect(places).toEqual(['1']);
    // The one without an answer would stay longer.
    await until('it has bounced', LIMIT_MS / 2, async () => Object.keys(await room.places()).length === 0);
  });

  it.each([390, 820, 1440])('fits %i pixels, and its height never changes', async (width) => {
    const room = await open({ viewport: { width, height: 700 } });
    const size = async (): Promise<[number, number]> =>
      room.page.evaluate(() => [
        document.querySelector<HTMLElement>('#place')!.offsetHeight,
        document.documentElement.scrollWidth,
      ]);
    const idle = await size();
    expect(idle[1]).toBe(width);
    await room.tick([ride(1, room.atMs), ride(2, room.atMs)], [], { oneOf: 12, enforced: false });
    expect(await size()).toEqual(idle);
    await room.rest(1, 2);
    const { x, y } = (await room.places())[2]!;
    await room.page.mouse.move(x, y);
    await room.card();
    expect(await size()).toEqual(idle);
    const card = (await room.page.locator('.requests-card').boundingBox())!;
    expect(card.x).toBeGreaterThanOrEqual(0);
    expect(card.x + card.width).toBeLessThanOrEqual(width);
  });

  it('is not painted while nobody can see it, nor while nothing moves', async () => {
    const room = await open();
    const { page } = room;
    await page.evaluate(() => {
      window.paints = 0;
      const { painter } = window.world;
      const paint = painter.paint.bind(painter);
      painter.paint = (...marks) => {
        window.paints++;
        paint(...marks);
      };
    });
    const paintsIn = async (ms: number): Promise<number> => {
      const from = await page.evaluate(() => window.paints);
      await delay(ms);
      return (await page.evaluate(() => window.paints)) - from;
    };
    await until('the empty picture is painted', LIMIT_MS, async () => (await paintsIn(300)) === 0);
    await room.tick([ride(1, room.atMs)], []);
    await room.rest(1);
    expect(await paintsIn(600)).toBeGreaterThan(2);
    await page.locator('#below').scrollIntoViewIfNeeded();
    await until('it stops', LIMIT_MS, async () => (await paintsIn(300)) === 0);
    await room.tick([ride(2, room.atMs)], []);
    expect(await paintsIn(300)).toBe(0);
    await page.getByRole('button', { name: 'before' }).scrollIntoViewIfNeeded();
    await until('it goes on', LIMIT_MS, async () => '2' in (await room.places()));
  });
});
