import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { until } from '../support/faults/until.js';
import { BuiltApp } from './support/built-app.js';
import { launch, Viewer } from './support/viewer.js';

/** A small matching service, so that a busy machine can overload it, too. */
const SMALL = {
  MATCHING_WORKERS: '4',
  MATCHING_SERVICE_MS: '100',
  MATCHING_QUEUE: '100',
  MATCHING_LIMIT: '20',
  MATCHING_BURST: '20',
};

let browser: Browser;
let app: BuiltApp;

beforeAll(async () => {
  [browser, app] = await Promise.all([launch(), BuiltApp.start(SMALL)]);
});

afterAll(async () => {
  await browser.close();
  await app.stop();
});

describe('the story', () => {
  it('of a surge: rejections, a collapse without limits, and recovery', async () => {
    await using viewer = await Viewer.open(browser, app.url);
    const { page } = viewer;
    expect(await viewer.full('rides', 'matching')).toBe(1);
    expect(await viewer.value('rejected')).toBe(0);
    await page.locator('summary').click();

    await viewer.concert.click();
    await until('rejections in the chart', 20_000, async () => (await viewer.value('rejected')) > 20);
    await until('an empty bucket', 10_000, async () => (await viewer.full('rides', 'matching')) < 0.3);
    expect(await viewer.concert.innerText()).toBe('Stop the surge');
    await until('rejections in the table', 10_000, async () => {
      const cells = await page.locator('#figures tr td:nth-child(3)').allInnerTexts();
      return cells.some((cell) => Number(cell) > 20);
    });
    await until('a matching that keeps up', 10_000, async () => (await viewer.value('utilisation')) < 85);

    await viewer.enforcement.click();
    await until('no rejections', 10_000, async () => (await viewer.value('rejected')) === 0);
    expect(await viewer.enforcement.getAttribute('aria-checked')).toBe('false');
    expect(await page.locator('#decider').innerText()).toBe('Limits are off: every request passes.');
    await until('a busy matching', 20_000, async () => (await viewer.value('utilisation')) > 95);
    await until('a queue', 20_000, async () => (await viewer.value('waiting')) > 50);

    await viewer.enforcement.click();
    await until('rejections again', 10_000, async () => (await viewer.value('rejected')) > 20);
    await until('an empty queue', 20_000, async () => (await viewer.value('waiting')) < 5);
    await viewer.concert.click();
    await until('a full bucket', 20_000, async () => (await viewer.full('rides', 'matching')) === 1);
    await page.getByRole('button', { name: 'The concert ends' }).waitFor();
    expect(viewer.troubles).toEqual([]);
  });

  it.each(['rides', 'fares', 'nearby', 'location', 'history', 'stats', 'surge'])(
    'of one request to the lane %s: status and headers',
    async (lane) => {
      await using viewer = await Viewer.open(browser, app.url);
      const one = viewer.lane(lane);
      await one.getByRole('button').first().click();
      await one.locator('.tally').waitFor();
      expect(await one.locator('.outcome').innerText()).toMatch(
        /200 OK[^]*X-RateLimit-Limit\s*\d+[^]*X-RateLimit-Remaining\s*\d+[^]*X-RateLimit-Reset\s*\d+/,
      );
      expect(viewer.troubles).toEqual([]);
    },
  );

  it('of an impatient rider: a bucket that drains, a 429 with Retry-After, a bucket that fills', async () => {
    await using viewer = await Viewer.open(browser, app.url);
    await until('a full bucket', 10_000, async () => (await viewer.full('nearby', 'rider')) === 1);
    const levels: number[] = [];
    // Starts before the click: on a busy machine the bucket may fill between two looks.
    const refilled = until('a bucket that has drained, and is full again', 15_000, async () => {
      levels.push(await viewer.full('nearby', 'rider'));
      return Math.min(...levels) < 0.7 && levels.at(-1) === 1;
    });
    await viewer.lane('nearby').getByRole('button', { name: 'Send 40' }).click();
    await viewer.lane('nearby').getByText('429 Too Many Requests').waitFor();
    expect(await viewer.lane('nearby').innerText()).toMatch(/Retry-After\s*1/);
    await refilled;
    // Without requests the level never falls.
    const lowest = levels.indexOf(Math.min(...levels));
    expect(levels.slice(lowest)).toEqual(levels.slice(lowest).toSorted((a, b) => a - b));
    expect(viewer.troubles).toEqual([]);
  });

  it('of windows: a queue that moves, marks that stay, counts', async () => {
    await using viewer = await Viewer.open(browser, app.url);
    const before = await viewer.full('stats', 'default');
    await viewer.lane('stats').getByRole('button', { name: 'Send 20' }).click();
    await until('a fuller window', 5000, async () => (await viewer.full('stats', 'default')) >= before + 0.3);
    await viewer.lane('surge').getByRole('button', { name: 'Send 3' }).click();
    await until('marks', 5000, async () => (await viewer.lane('surge').locator('.mark').count()) >= 3);
    await viewer.lane('location').getByRole('button', { name: 'Send 6' }).click();
    await until('a queue', 5000, async () => (await viewer.full('location', 'location-index')) > 0.05);
    await until('an empty queue', 5000, async () => (await viewer.full('location', 'location-index')) === 0);
    expect(viewer.troubles).toEqual([]);
  });
});
