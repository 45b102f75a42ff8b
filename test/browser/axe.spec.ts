import { expect, it, jest } from '@jest/globals';
import type { Page } from 'playwright-core';
import { violations } from './support/axe.js';
import { useBuiltApp } from './support/built-app.js';
import { PlaygroundPage } from './support/playground-page.js';
import { SMALL } from './support/small.js';
import { Viewer } from './support/viewer.js';

jest.setTimeout(180_000);

const built = useBuiltApp(SMALL);

/** What axe finds in light on a desktop, and in dark on a phone. */
async function found(page: Page): Promise<string[]> {
  const all: string[] = [];
  for (const [colorScheme, width] of [
    ['light', 1440],
    ['dark', 390],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    all.push(...(await violations(page)).map((one) => `${colorScheme}, ${width} px: ${one}`));
  }
  return all;
}

it('axe finds nothing on the page before and during a run, and after sends to the pods', async () => {
  await using viewer = await Viewer.open(built);
  const { page } = viewer;
  await viewer.calm();
  expect(await found(page)).toEqual([]);
  await viewer.surge();
  await viewer.figure('left', 'failed').and(page.locator(':not([data-none])')).waitFor();
  expect(await found(page)).toEqual([]);
  await viewer.calm();
  await page.locator('#pods').getByRole('button', { name: 'Send 25 to each' }).click();
  await page.locator('#pods [data-newest]').waitFor({ timeout: 60_000 });
  await page.locator('#world-figures summary').click();
  expect(await found(page)).toEqual([]);
});

it('axe finds nothing in the playground, and in its errors', async () => {
  await using playground = await PlaygroundPage.open(built.browser, `${built.url}/playground`);
  expect(await found(playground.page)).toEqual([]);
  await playground.button('API plan').click();
  await playground.more();
  await playground.page.locator('#setting-limit').fill('0');
  expect(await found(playground.page)).toEqual([]);
});
