import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { BuiltApp } from './support/built-app.js';
import { violations } from './support/axe.js';
import { PlaygroundPage } from './support/playground-page.js';
import { SMALL } from './support/small.js';
import { launch, Viewer } from './support/viewer.js';

jest.setTimeout(180_000);

const LOOKS = [
  ['light', 390],
  ['dark', 390],
  ['light', 1440],
  ['dark', 1440],
] as const;
const HEIGHT = 900;

let browser: Browser;
let app: BuiltApp;
let watched: BuiltApp;

beforeAll(async () => {
  [browser, app] = await Promise.all([launch(), BuiltApp.start(SMALL)]);
  watched = await BuiltApp.start({ CONTROL_ROOM: 'watch' });
});

afterAll(async () => {
  await browser.close();
  await app.stop();
  await watched.stop();
});

describe('axe finds nothing', () => {
  it('on the page in its states, light and dark, on a phone and a desktop', async () => {
    await using viewer = await Viewer.open(browser, app.url, { viewport: { width: 1440, height: HEIGHT } });
    const { page } = viewer;
    const found: string[] = [];
    const check = async (state: string): Promise<void> => {
      for (const [colorScheme, width] of LOOKS) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: HEIGHT });
        found.push(...(await violations(page)).map((one) => `${state}, ${colorScheme}, ${width} px: ${one}`));
      }
    };
    await viewer.calm();
    await check('ready');

    await viewer.surge();
    await viewer.tile('left', 'failed').and(page.locator('[data-bad]')).waitFor({ state: 'attached' });
    await check('running');
    await viewer.calm();
    await check('after a run that was stopped');

    await page.locator('#pods').getByRole('button', { name: 'Send 25 to each' }).click();
    await page.locator('#pods [data-newest]').waitFor({ timeout: 60_000 });
    await page.locator('#world-figures summary').click();
    await check('after sends to the pods');
    expect(found).toEqual([]);
    expect(viewer.troubles).toEqual([]);
  });

  it('on the page that only watches', async () => {
    for (const [colorScheme, width] of LOOKS) {
      await using viewer = await Viewer.open(browser, watched.url, {
        colorScheme,
        viewport: { width, height: HEIGHT },
      });
      expect([colorScheme, width, await violations(viewer.page)]).toEqual([colorScheme, width, []]);
      expect(viewer.troubles).toEqual([]);
    }
  });

  it('in the playground', async () => {
    for (const [colorScheme, width] of LOOKS) {
      const viewport = { width, height: HEIGHT };
      const url = `${watched.url}/playground`;
      await using playground = await PlaygroundPage.open(browser, url, { colorScheme, viewport });
      expect([colorScheme, width, await violations(playground.page)]).toEqual([colorScheme, width, []]);
      await playground.button('API plan').click();
      await playground.page.locator('#numbers').evaluate((numbers) => numbers.setAttribute('open', ''));
      await playground.page.locator('#setting-limit').fill('0');
      expect([colorScheme, width, await violations(playground.page)]).toEqual([colorScheme, width, []]);
      expect(playground.troubles).toEqual([]);
    }
  });
});
