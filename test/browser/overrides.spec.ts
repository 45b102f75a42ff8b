import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { until } from '../support/faults/until.js';
import { RedisServer } from '../support/redis-server.js';
import { BuiltApp } from './support/built-app.js';
import { launch, Viewer } from './support/viewer.js';

const TOKEN = '0123456789abcdef0123456789abcdef';
const TARGET = { policy: 'rider', identity: 'user:rider-1' };
const NARROW = { width: 390, height: 844 };

let browser: Browser;
let redis: RedisServer;
let apps: readonly [BuiltApp, BuiltApp];
let pictures: string;

beforeAll(async () => {
  [browser, redis] = await Promise.all([launch(), RedisServer.start()]);
  const variables = { REDIS_URL: redis.url, ADMIN_TOKEN: TOKEN };
  apps = [await BuiltApp.start(variables), await BuiltApp.start(variables)];
  pictures = await mkdtemp(join(tmpdir(), 'control-room-'));
});

afterAll(async () => {
  await browser.close();
  for (const app of apps) await app.stop();
  await redis.stop();
});

/** Sends a request like an operator, to the first process. */
async function operate(method: 'PUT' | 'POST', path: string, body: object): Promise<void> {
  const response = await fetch(`${apps[0].url}/api/admin/limits/${path}`, {
    method,
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
}

const override = (change: object, more: object = {}): Promise<void> =>
  operate('PUT', 'overrides', { ...TARGET, change, ...more });

describe('an override that another process sets', () => {
  it('changes the picture within a second, in words and numbers, for its rider alone', async () => {
    await using viewer = await Viewer.open(browser, apps[1].url);
    const { page } = viewer;
    const policy = viewer.lane('rides').locator('[data-policy=rider]');
    const [words, caption] = [policy.locator('.override'), policy.locator('.caption')];
    expect(await caption.innerText()).toMatch(/^20 of 20 tokens/);
    expect(await words.isVisible()).toBe(false);

    await override({ capacity: 5 }, { expiresIn: '24h' });
    await words.waitFor({ timeout: 1000 });
    expect(await words.innerText()).toMatch(/^override: capacity 5, until \w{3} \d{1,2}, \d\d:\d\d$/);
    await until('the picture', 1000, async () => (await caption.innerText()).startsWith('5 of 5 tokens'));
    expect(await page.locator('.lanes-spoken').innerText()).toMatch(
      /^rider-1: Requests of riders: override: capacity 5, until .*\.$/,
    );
    await viewer.lane('rides').getByRole('button', { name: 'Send 30' }).click();
    await viewer.lane('rides').getByText('429 Too Many Requests').waitFor();
    expect(await viewer.lane('rides').innerText()).toMatch(/X-RateLimit-Limit\s*5\s/);
    await page.screenshot({ path: join(pictures, 'override.png'), fullPage: true });

    await viewer.rider.selectOption('rider-2');
    expect(await viewer.lane('rides').locator('.outcome').innerText()).toBe('');
    expect(await words.isVisible()).toBe(false);
    expect(await caption.innerText()).toMatch(/^40 of 40 tokens/);
    expect(await policy.getByText('plan plus').isVisible()).toBe(true);
    await page.screenshot({ path: join(pictures, 'plus.png') });
    await viewer.rider.selectOption('rider-1');
    expect(await words.isVisible()).toBe(true);

    await operate('POST', 'overrides/remove', TARGET);
    await words.waitFor({ state: 'hidden', timeout: 1000 });
    await until('the picture', 1000, async () => (await caption.innerText()).includes('of 20 tokens'));
    expect(await page.locator('.lanes-spoken').innerText()).toBe('rider-1: no override.');
    expect(viewer.troubles).toEqual([]);
  });

  it('says in words that the rider is exempt or blocked, on a phone, too', async () => {
    await using viewer = await Viewer.open(browser, apps[1].url, { viewport: NARROW });
    const policy = viewer.lane('rides').locator('[data-policy=rider]');
    for (const [change, word, meaning] of [
      [{ exempt: true }, 'exempt', 'the rider is not counted'],
      [{ blocked: true }, 'blocked', 'every request is rejected'],
    ] as const) {
      await override(change);
      await policy.getByText(`override: ${word}, until it is removed`).waitFor({ timeout: 1000 });
      await until('the picture', 1000, async () => (await policy.locator('.amount').innerText()) === word);
      expect(await policy.locator('.rest').innerText()).toBe(meaning);
      await viewer.page.screenshot({ path: join(pictures, `${word}.png`), fullPage: true });
    }
    await viewer.lane('rides').getByRole('button', { name: 'Send 1:' }).click();
    await viewer.lane('rides').getByText('429 Too Many Requests').waitFor();
    const width = await viewer.page.evaluate(() => document.documentElement.scrollWidth);
    expect(width).toBeLessThanOrEqual(NARROW.width);
    const { height } = (await viewer.rider.boundingBox())!;
    expect(height).toBeGreaterThanOrEqual(44);
    await operate('POST', 'overrides/remove', TARGET);
    expect(viewer.troubles).toEqual([]);
  });
});
