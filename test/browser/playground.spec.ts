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
  it('opens with one question, its answer and two rows, which play; the rest is in a drawer', async () => {
    await using playground = await open('/playground');
    const { page } = playground;
    expect(page.url()).toMatch(/\/playground\/(#.*)?$/);
    expect(await playground.asked()).toEqual([
      'The limit is 10 in 10 seconds. Can 20 pass within one?',
      ['Twice the limit'],
    ]);
    expect(await playground.stats('passed')).toEqual(['15', '25']);
    expect(await playground.stats('most')).toEqual(['10', '20, over 10']);
    expect(await page.locator('#controls :is(button, input, select):visible').count()).toBe(10);
    const time = (): Promise<string> => page.locator('#clock').innerText();
    const before = await time();
    await until('the clock', 5000, async () => (await time()) !== before);
    await playground.button(/^All six/).click();
    expect(await playground.stats('passed')).toHaveLength(6);
    expect(playground.troubles).toEqual([]);
  });

  it('sends one request, a burst, and a stream while a button is held', async () => {
    await using playground = await open();
    const { page } = playground;
    await playground.more();
    await playground.clear();
    await playground.button('Send 1').click();
    expect(await playground.stats('passed')).toEqual(['1', '1', '1', '1', '1', '1']);
    expect(await playground.stat('token-bucket', 'remaining')).toBe('9 of 10');
    await page.getByLabel('Send at once').fill('14');
    await playground.button('Send 14').click();
    expect(await playground.stats('passed')).toEqual(['10', '10', '10', '11', '10', '3']);
    expect(await playground.stats('rejected')).toEqual(['5', '5', '5', '4', '5', '12']);
    await page.getByText('15 requests. Passed: token bucket 10, leaky bucket 11').waitFor();
    expect(await playground.row('fixed-window').locator('.outlook').innerText()).toBe('Retry-After 10.0 s');

    await playground.clear();
    await playground.button(/^All six/).click();
    await page.getByLabel('Rate of requests while held').selectOption('10/s');
    await playground.button('Hold').hover();
    await page.mouse.down();
    await until('a stream', 8000, async () => Number(await playground.stat('fixed-window', 'passed')) >= 6);
    await page.mouse.up();
    await page.locator('#hold[aria-pressed=false]').waitFor();
    await page.getByText(/Passed: fixed window \d+, sliding window log \d+\.$/).waitFor();
    expect(playground.troubles).toEqual([]);
  });

  it('shows of each case the algorithm that fits and another one, an empty limit for the first burst, and code to copy', async () => {
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
      await first.getByText('The code').click();
      expect(await first.locator('code').innerText()).toContain(part);
      const copies = first.getByRole('button', { name: /^Copy module/ });
      await copies.click();
      await copies.getByText('Copied ✓').waitFor();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      for (const option of part.split(', by')) expect(copied).toContain(option);
      expect(copied).toContain('RateLimitModule.forRoot({');
      expect(await playground.stat(algorithm, 'rejected')).not.toBe('0');
      await playground.button('Send 15').click();
      // The page draws with the next frame.
      await until(`${passed} of ${name}`, 5000, async () => (await playground.stat(algorithm, 'passed')) === passed);
    }
    expect(playground.troubles).toEqual([]);
  });

  it('asks the question of what it shows, also from a link', async () => {
    await using playground = await open();
    const { page } = playground;
    const login = ['A program guesses passwords. How many guesses get through?', ['Login']] as const;
    await playground.button('Login').click();
    expect(await playground.asked()).toEqual(login);
    await playground.more();
    await page.getByLabel('Limit', { exact: true }).fill('6');
    expect(await playground.asked()).toEqual(['What passes with your numbers?', []]);
    await page.getByLabel('Limit', { exact: true }).fill('5');
    expect(await playground.asked()).toEqual(login);
    await playground.button('Send 1').click();
    expect(await playground.asked()).toEqual(['What becomes of your requests?', []]);
    await playground.button('Login').click();
    await page.getByLabel('Limit', { exact: true }).fill('7');
    await playground.button('Copy link').click();
    await using shared = await open(`/playground/${new URL(page.url()).hash}`);
    expect(await shared.asked()).toEqual(['What passes with your numbers?', []]);
    expect(await shared.stats('remaining')).toEqual(await playground.stats('remaining'));
    expect(await shared.pictures()).toEqual(await playground.pictures());
    expect([...playground.troubles, ...shared.troubles]).toEqual([]);
  });
});

describe('for everybody', () => {
  it('fits a phone', async () => {
    await using playground = await open('/playground/', { viewport: PHONE });
    const { page } = playground;
    const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const);
    expect(wide).toBeLessThanOrEqual(room);
    const buttons = page.locator('#controls button:visible');
    expect(
      Math.min(...(await buttons.evaluateAll((all) => all.map((one) => one.clientHeight)))),
    ).toBeGreaterThanOrEqual(42);
    const height = async (): Promise<number> => (await page.locator('#controls').boundingBox())!.height;
    expect(await height()).toBeLessThan(PHONE.height / 5);
    const rows = await page
      .locator('article:visible canvas')
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().bottom));
    expect(Math.max(...rows)).toBeLessThan(PHONE.height - (await height()));
    // An open drawer leaves a row in view.
    await page.getByText('More traffic, and the numbers').click();
    expect(await height()).toBeLessThan(PHONE.height * 0.6);
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
