import { describe, expect, it } from '@jest/globals';
import type { BrowserContextOptions } from 'playwright-core';
import { until } from '../support/faults/until.js';
import { useBuiltApp } from './support/built-app.js';
import { PlaygroundPage } from './support/playground-page.js';

const PHONE = { width: 390, height: 844 };

const built = useBuiltApp();
const open = (path = '/playground/', options?: BrowserContextOptions): Promise<PlaygroundPage> =>
  PlaygroundPage.open(built.browser, `${built.url}${path}`, options);

describe('the playground', () => {
  it('opens with an example that plays: each row passes and rejects', async () => {
    await using playground = await open('/playground');
    expect(playground.page.url()).toMatch(/\/playground\/(#.*)?$/);
    expect(await playground.page.locator('article').count()).toBe(6);
    expect(await playground.stats('passed')).not.toContain('0');
    expect(await playground.stats('rejected')).not.toContain('0');
    const time = (): Promise<string> => playground.page.locator('#clock').innerText();
    const before = await time();
    await until('the clock', 5000, async () => (await time()) !== before);
    expect(playground.troubles).toEqual([]);
  });

  it('sends one request, a burst, and a stream while a button is held', async () => {
    await using playground = await open();
    const { page } = playground;
    await playground.clear();
    await playground.button('Send 1').click();
    expect(await playground.stats('passed')).toEqual(['1', '1', '1', '1', '1', '1']);
    expect(await playground.stat('token-bucket', 'remaining')).toBe('9 of 10');
    await page.getByLabel('Requests of a burst').fill('14');
    await playground.button('Burst').click();
    expect(await playground.stats('passed')).toEqual(['10', '11', '10', '10', '10', '3']);
    expect(await playground.stats('rejected')).toEqual(['5', '4', '5', '5', '5', '12']);
    await page.getByText('15 requests. Passed: token bucket 10, leaky bucket 11').waitFor();
    expect(await playground.row('fixed-window').locator('.outlook').innerText()).toBe('Retry-After 10.0 s');

    await playground.clear();
    await page.getByLabel('Rate of requests while held').selectOption('10/s');
    await playground.button('Hold').hover();
    await page.mouse.down();
    await until('a stream', 8000, async () => Number(await playground.stat('token-bucket', 'passed')) >= 6);
    await page.mouse.up();
    await page.locator('#hold[aria-pressed=false]').waitFor();
    expect(playground.troubles).toEqual([]);
  });

  it('tells the story of each case: its algorithm on top, an empty limit for the first burst, and code to copy', async () => {
    await using playground = await open('/playground/', {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const { page } = playground;
    for (const [name, algorithm, passed, part] of [
      ['Expensive export', 'concurrency', '2', "algorithm: 'concurrency', limit: 2, lease: '30s', by: 'user'"],
      ['Slow service', 'leaky-bucket', '11', "drain: 2, by: 'global', priorities: { high: 1, low: 0.5 }"],
    ] as const) {
      await playground.button(name).click();
      const first = page.locator('article').first();
      expect(await first.getAttribute('data-algorithm')).toBe(algorithm);
      await first.getByText('Fits this case').waitFor();
      expect(await first.locator('code').innerText()).toContain(part);
      const copies = first.getByRole('button', { name: /^Copy module/ });
      await copies.click();
      await copies.getByText('Copied ✓').waitFor();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      for (const option of part.split(', by')) expect(copied).toContain(option);
      expect(copied).toContain('RateLimitModule.forRoot({');
      expect(await playground.stat(algorithm, 'rejected')).not.toBe('0');
      await playground.button('Burst').click();
      // The page draws with the next frame.
      await until(`${passed} of ${name}`, 5000, async () => (await playground.stat(algorithm, 'passed')) === passed);
    }
    expect(playground.troubles).toEqual([]);
  });
});

describe('for everybody', () => {
  it('fits a phone', async () => {
    await using playground = await open('/playground/', { viewport: PHONE });
    const { page } = playground;
    await playground.button('Edge of a window').click();
    const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const);
    expect(wide).toBeLessThanOrEqual(room);
    const heights = await page.locator('.bar button').evaluateAll((all) => all.map((one) => one.clientHeight));
    expect(Math.min(...heights)).toBeGreaterThanOrEqual(42);
    expect(playground.troubles).toEqual([]);
  });

  it('allows itself nothing from elsewhere, and no inline script or style', async () => {
    const url = `${built.url}/playground/`;
    const response = await fetch(url);
    expect(response.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'/,
    );
    expect(await response.text()).not.toMatch(
      /<style|style=|<script>|onclick|https?:\/\/(?!github\.com|floodgate-nest\.github\.io)/,
    );
    const statuses = ['../main.js', 'src/main.js', 'libs/nest/src/index.js', 'nothing.js'].map(
      async (path) => (await fetch(`${url}${path}`)).status,
    );
    expect(await Promise.all(statuses)).toEqual([404, 404, 404, 404]);
  });
});
