import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { until } from '../support/faults/until.js';
import { BuiltApp } from './support/built-app.js';
import { PlaygroundPage } from './support/playground-page.js';
import { launch } from './support/viewer.js';

const PHONE = { width: 390, height: 844 };

let browser: Browser;
let app: BuiltApp;
let url: string;

beforeAll(async () => {
  [browser, app] = await Promise.all([launch(), BuiltApp.start()]);
  url = `${app.url}/playground/`;
});

afterAll(async () => {
  await browser.close();
  await app.stop();
});

describe('the playground', () => {
  it('opens with an example that plays: each row passes and rejects', async () => {
    await using playground = await PlaygroundPage.open(browser, `${app.url}/playground`);
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
    await using playground = await PlaygroundPage.open(browser, url);
    const { page } = playground;
    await playground.clear();
    await playground.button('Send 1').click();
    expect(await playground.stats('passed')).toEqual(['1', '1', '1', '1', '1', '1']);
    expect(await playground.stats('remaining')).toEqual([
      '9 of 10',
      '10 of 10',
      '9 of 10',
      '9 of 10',
      '9 of 10',
      '2 of 3',
    ]);
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

  it('shows twice the limit around the edge of a fixed window, and not in a log', async () => {
    await using playground = await PlaygroundPage.open(browser, url);
    await playground.clear();
    await playground.button('Edge of a window').click();
    expect(await playground.stats('passed')).toEqual(['11', '12', '20', '10', '10', '3']);
    expect(await playground.stat('fixed-window', 'most')).toBe('20, over 10');
    expect(await playground.stat('sliding-window-log', 'most')).toBe('10');
    await playground.page.getByText('around the edge at 20 s').waitFor();
    await playground.page.getByText('fixed window 20 (twice its limit)').waitFor();
    // The picture shows nothing but the edge, until time moves on.
    await playground.button('Copy link').click();
    expect(playground.page.url()).toContain('&f=19000&t=21000&');
    await playground.button('Step').click();
    await playground.button('Copy link').click();
    expect(playground.page.url()).not.toContain('f=');
    expect(playground.troubles).toEqual([]);
  });

  it('tells a script that waits as told from one that does not: both pass at the same time', async () => {
    await using playground = await PlaygroundPage.open(browser, url);
    const { page } = playground;
    const rejected: string[] = [];
    for (const script of ['Retry at once', 'Retry as told']) {
      await playground.clear();
      await page.getByLabel('Requests of a burst').fill('12');
      await playground.button(script).click();
      for (let second = 0; second < 10; second++) await playground.button('Step').click();
      expect(await playground.stat('fixed-window', 'passed')).toBe('12');
      rejected.push(await playground.stat('fixed-window', 'rejected'));
    }
    expect(rejected).toEqual(['80', '2']);
    expect(playground.troubles).toEqual([]);
  });

  it('decides the same requests again with other numbers, and explains numbers that are wrong', async () => {
    await using playground = await PlaygroundPage.open(browser, url);
    const { page } = playground;
    await playground.clear();
    await playground.button('Burst').click();
    expect(await playground.stat('token-bucket', 'passed')).toBe('10');
    await page.locator('#setting-capacity').fill('12');
    expect(await playground.stat('token-bucket', 'passed')).toBe('12');
    await page.locator('#setting-capacity').fill('1.5');
    await page.getByText('Capacity must be a whole number from 1 to 1,000,000 tokens, got 1.5').waitFor();
    expect(await page.locator('#setting-capacity').getAttribute('aria-invalid')).toBe('true');
    expect(await playground.stat('token-bucket', 'passed')).toBe('12');
    const slider = page.getByRole('slider', { name: 'Capacity' });
    await slider.focus();
    await page.keyboard.press('ArrowRight');
    expect(await page.locator('#setting-capacity').inputValue()).toBe('13');
    expect(await page.locator('#setting-capacity').getAttribute('aria-invalid')).toBe('false');
    await page.locator('#wrong').waitFor({ state: 'hidden' });
    expect(await playground.stat('token-bucket', 'passed')).toBe('13');
    expect(await playground.row('token-bucket').locator('code').innerText()).toContain('capacity: 13');
    expect(playground.troubles).toEqual([]);
  });

  it('tells the story of each case: its algorithm on top, an empty limit for the first burst, and code to copy', async () => {
    await using playground = await PlaygroundPage.open(browser, url, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const { page } = playground;
    for (const [name, algorithm, passed, part] of [
      [
        'Login',
        'sliding-window-log',
        '5',
        "name: 'login', algorithm: 'sliding-window-log', limit: 5, window: '15m', by: 'ip'",
      ],
      [
        'API plan',
        'token-bucket',
        '15',
        "refill: '100/h', by: 'user', plans: { pro: { capacity: 200, refill: '1000/h' } }",
      ],
      ['Expensive export', 'concurrency', '2', "algorithm: 'concurrency', limit: 2, lease: '30s', by: 'user'"],
      ['Slow service', 'leaky-bucket', '11', "drain: 2, by: 'global', priorities: { high: 1, low: 0.5 }"],
      [
        'Monthly quota',
        'fixed-window',
        '15',
        "limit: 100, window: { calendar: 'month', timeZone: 'UTC' }, by: 'api-key'",
      ],
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
      const before = await playground.pictures();
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(await playground.pictures()).toEqual(before);
      await playground.button('Burst').click();
      // The page draws with the next frame.
      await until(`${passed} of ${name}`, 5000, async () => (await playground.stat(algorithm, 'passed')) === passed);
    }
    expect(playground.troubles).toEqual([]);
  });

  it('says that a case is customised once its numbers are changed, also in a shared link', async () => {
    await using playground = await PlaygroundPage.open(browser, url);
    const { page } = playground;
    const pressed = (): Promise<string[]> => page.locator('#presets [aria-pressed=true]').allInnerTexts();
    const story = page.locator('#story');
    await playground.button('Login').click();
    expect(await pressed()).toEqual(['Login']);
    await page.locator('#setting-limit').fill('6');
    expect(await pressed()).toEqual([]);
    expect(await story.innerText()).toBe('Customised: these are your numbers, no longer those of “Login”.');
    expect(await page.locator('.fits:visible').count()).toBe(0);
    await playground.button('Copy link').click();
    await using shared = await PlaygroundPage.open(browser, page.url());
    expect(await shared.page.locator('#story').innerText()).toBe(await story.innerText());
    expect(await shared.page.locator('#presets [aria-pressed=true]').count()).toBe(0);
    await page.locator('#setting-limit').fill('5');
    expect(await pressed()).toEqual(['Login']);
    expect(await story.innerText()).toMatch(/^A program guesses passwords/);
    await page.getByLabel('Name').fill('signin');
    expect(await pressed()).toEqual([]);
    await playground.button('Monthly quota').click();
    expect(await pressed()).toEqual(['Monthly quota']);
    expect([...playground.troubles, ...shared.troubles]).toEqual([]);
  });

  it('counts months of the calendar, and leaves them for another unit', async () => {
    await using playground = await PlaygroundPage.open(browser, url);
    const { page } = playground;
    const code = playground.row('fixed-window').locator('code');
    await playground.button('Monthly quota').click();
    const number = page.getByLabel('Window', { exact: true });
    const unit = page.getByLabel('Unit of: Window');
    expect([await number.inputValue(), await number.isEditable(), await unit.inputValue()]).toEqual([
      '1',
      false,
      'month',
    ]);
    await page.locator('#range-windowMs').getByText('other windows: 30 d').waitFor();
    await unit.selectOption('d');
    await code.getByText("window: '1d'").waitFor();
    await number.fill('7');
    await code.getByText("window: '7d'").waitFor();
    await unit.selectOption('month');
    await code.getByText("window: { calendar: 'month', timeZone: 'UTC' }").waitFor();
    await playground.button('Edge of a window').click();
    await page.getByText('around the edge at 60 d').waitFor();
    expect(await playground.stat('fixed-window', 'passed')).toBe('200');
    expect(playground.troubles).toEqual([]);
  });

  it('shows a burst on an empty limit as a whole, with its count', async () => {
    await using playground = await PlaygroundPage.open(browser, url);
    await playground.clear();
    await playground.button('Burst').click();
    await playground.row('token-bucket').getByText('10', { exact: true }).first().waitFor();
    await playground.pictures();
    const edges = await playground.page.locator('.picture').evaluateAll((all) =>
      all.map((one) => {
        const canvas = one as HTMLCanvasElement;
        const column = canvas.getContext('2d')!.getImageData(0, 0, 1, canvas.height).data;
        // Lines across the whole picture reach its edge: the level, the limit, and that of the marks.
        return Array.from({ length: canvas.height }, (_, y) => column[4 * y + 3]! > 0).filter(Boolean).length;
      }),
    );
    expect(Math.max(...edges)).toBeLessThanOrEqual(8);
    expect(playground.troubles).toEqual([]);
  });

  it('takes times and rates in their units, and keeps the picture where the window gets another unit', async () => {
    await using playground = await PlaygroundPage.open(browser, url);
    const { page } = playground;
    await page.getByLabel('Unit of: Refill and drain').selectOption('/h');
    await page.locator('#setting-refill').fill('100');
    await playground.row('token-bucket').locator('code').getByText("refill: '100/h'").waitFor();
    await playground.button('Pause').click();
    const passed = await playground.stats('passed');
    await page.getByLabel('Unit of: Window').selectOption('h');
    await playground.row('fixed-window').locator('code').getByText("window: '10h'").waitFor();
    expect((await playground.stats('passed')).slice(2, 5)).toEqual(passed.slice(2, 5));
    await page.getByText('3,600 times as fast').waitFor();
    expect(await page.locator('#rate option:checked').innerText()).toBe('5/h');
    await page.getByLabel('Name').fill('ä');
    await page.getByText('name must be', { exact: false }).waitFor();
    await page.getByLabel('Name').fill('reports');
    await page.locator('#wrong').waitFor({ state: 'hidden' });
    await playground.row('fixed-window').locator('code').getByText("name: 'reports'").waitFor();
    await page.locator('#setting-limit').fill('1001');
    await playground.button('Edge of a window').click();
    await page.getByText('Both sides of an edge need 2002 requests; a timeline keeps 2000.').waitFor();
    await page.getByLabel('Requests of a burst').fill('0');
    await playground.button('Burst').click();
    await page.getByText('A burst must be a whole number from 1 to 100 requests, got 0').waitFor();
    expect(playground.troubles).toEqual([]);
  });

  it('stands still once nothing more happens, asks for no frame then, and goes on with the next request', async () => {
    await using playground = await PlaygroundPage.open(browser, url);
    const { page } = playground;
    await playground.clear();
    await playground.button('Play').click();
    await playground.button('Play').waitFor();
    const frames = await page.evaluate(async () => {
      const ask = window.requestAnimationFrame;
      let asked = 0;
      window.requestAnimationFrame = (...args) => (asked++, ask(...args));
      await new Promise((resolve) => setTimeout(resolve, 500));
      window.requestAnimationFrame = ask;
      return asked;
    });
    expect(frames).toBe(0);
    await playground.button('Send 1').click();
    await playground.button('Pause').waitFor();
    expect(playground.troubles).toEqual([]);
  });

  it('leads back to where it came from, and to the documentation', async () => {
    await using playground = await PlaygroundPage.open(browser, url);
    const links = playground.page.getByRole('navigation').getByRole('link');
    const addresses = await links.evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).href));
    const own = addresses.filter((one) => one.startsWith(app.url));
    expect(own).toEqual([`${app.url}/`, url]);
    const others = addresses.filter((one) => !one.startsWith(app.url));
    expect(others).toEqual([
      'https://floodgate-nest.github.io/floodgate/docs',
      'https://floodgate-nest.github.io/floodgate/policies#choose-an-algorithm',
    ]);
  });

  it('shares a picture by its address, to the pixel', async () => {
    await using playground = await PlaygroundPage.open(browser, url, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const { page } = playground;
    await playground.clear();
    await page.locator('#setting-limit').fill('6');
    await playground.button('Burst').click();
    for (const name of ['Step', 'Retry as told', 'Step', 'Send 1', 'Step']) await playground.button(name).click();
    await playground.button('Crash the pod').click();
    await playground.button('Copy link').click();
    await playground.button('Copied ✓').waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    expect(link).toContain('/playground/#v=1&');
    expect(link.length).toBeLessThan(200);
    await using shared = await PlaygroundPage.open(browser, link);
    expect(await shared.stats('passed')).toEqual(await playground.stats('passed'));
    expect(await shared.pictures()).toEqual(await playground.pictures());
    await shared.button('Play').waitFor();
    expect([...playground.troubles, ...shared.troubles]).toEqual([]);
  });

  it('says what is wrong with a damaged link, and shows the rest', async () => {
    await using playground = await PlaygroundPage.open(browser, `${url}#v=1&c=5&w=never&x=0_8.%00`);
    await playground.page
      .getByText(
        'This link is damaged: Window must be a number with at most one decimal from 0.1 s to 18,262 d, got never',
      )
      .waitFor();
    expect(await playground.stat('token-bucket', 'passed')).toBe('5');
    await playground.page.evaluate(() => (location.hash = '#v=1&c=3&x=0_8'));
    await until('the other link', 5000, async () => (await playground.stat('token-bucket', 'passed')) === '3');
    expect(await playground.page.locator('#notice').isVisible()).toBe(false);
    expect(playground.troubles).toEqual([]);
  });

  it('copies the decorator of a row, and shows it where the browser forbids copying', async () => {
    await using playground = await PlaygroundPage.open(browser, url, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const { page } = playground;
    const button = playground.button('Copy @RateLimit of the fixed window');
    await button.click();
    await button.getByText('Copied ✓').waitFor();
    const decorator = "@RateLimit({ algorithm: 'fixed-window', limit: 10, window: '10s' })";
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(decorator);
    await button.getByText('Copy', { exact: true }).waitFor();
    // Whoever grants some permissions to Chromium denies the others.
    await using strict = await PlaygroundPage.open(browser, url, { permissions: ['clipboard-read'] });
    await strict.button('Copy @RateLimit of the fixed window').click();
    await strict.page.getByRole('dialog', { name: 'Copy it by hand' }).waitFor();
    expect(await strict.page.getByLabel('The text to copy').inputValue()).toBe(decorator);
    await strict.page.keyboard.press('Escape');
    await strict.page.getByRole('dialog').waitFor({ state: 'hidden' });
    expect(strict.troubles).toEqual([]);
    expect(playground.troubles).toEqual([]);
  });
});

describe('for everybody', () => {
  it('works with a keyboard alone, and disturbs no other use of it', async () => {
    await using playground = await PlaygroundPage.open(browser, url);
    const { page } = playground;
    const { keyboard } = page;
    await playground.clear();
    await page.locator('#timeline').focus();
    await keyboard.press('t');
    await keyboard.press('b');
    expect(await playground.stat('token-bucket', 'rejected')).toBe('6');
    await keyboard.press('s');
    expect(await page.locator('#clock').innerText()).toBe('1.0 s');
    await keyboard.press('p');
    await playground.button('Pause').waitFor();
    await playground.clear();
    await page.locator('#setting-limit').focus();
    await keyboard.press('t');
    await page.locator('body').press('t');
    expect(await playground.stat('token-bucket', 'passed')).toBe('0');
    await playground.button('Hold').focus();
    await keyboard.down('Space');
    await until('a stream', 8000, async () => Number(await playground.stat('token-bucket', 'passed')) >= 2);
    await new Promise((resolve) => setTimeout(resolve, 400));
    await keyboard.up('Space');
    await page.locator('#hold[aria-pressed=false]').waitFor();
    const unnamed = await page
      .locator('button, input, select')
      .evaluateAll((all) =>
        all.filter(
          (one) =>
            !(one as HTMLInputElement).labels?.length && !one.getAttribute('aria-label') && !one.textContent?.trim(),
        ),
      );
    expect(unnamed).toEqual([]);
    expect(playground.troubles).toEqual([]);
  });

  it.each([
    ['a phone', { viewport: PHONE }],
    ['a tablet, dark', { viewport: { width: 820, height: 1180 }, colorScheme: 'dark' }],
    ['forced colours', { forcedColors: 'active' }],
  ] as const)('fits %s', async (_, options) => {
    await using playground = await PlaygroundPage.open(browser, url, options);
    const { page } = playground;
    await playground.button('Edge of a window').click();
    const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const);
    expect(wide).toBeLessThanOrEqual(room);
    const heights = await page.locator('.bar button').evaluateAll((all) => all.map((one) => one.clientHeight));
    expect(Math.min(...heights)).toBeGreaterThanOrEqual(wide < 500 ? 42 : 32);
    // The time stands in one row with what moves it, however long it is.
    for (const name of ['Login', 'Monthly quota', 'All six']) {
      await playground.button(name).click();
      const tops = await page
        .locator('.time > :not([hidden])')
        .evaluateAll((all) =>
          all.flatMap((one) => (one.clientHeight > 0 ? [Math.round(one.getBoundingClientRect().bottom)] : [])),
        );
      expect([name, await page.locator('#clock').isVisible(), Math.max(...tops) - Math.min(...tops) < 30]).toEqual([
        name,
        true,
        true,
      ]);
    }
    const pictures = await page.locator('.picture').evaluateAll((all) => all.map((one) => one.clientWidth));
    expect(Math.min(...pictures)).toBeGreaterThan(300);
    expect(playground.troubles).toEqual([]);
  });

  it('moves in steps of a second where motion is unwanted', async () => {
    const seen = async (reducedMotion: 'reduce' | 'no-preference'): Promise<number> => {
      await using playground = await PlaygroundPage.open(browser, url, { reducedMotion });
      const texts = new Set<string>();
      const end = Date.now() + 2_500;
      while (Date.now() < end) texts.add(await playground.page.locator('#clock').innerText());
      expect(playground.troubles).toEqual([]);
      return texts.size;
    };
    expect(await seen('reduce')).toBeLessThanOrEqual(4);
    expect(await seen('no-preference')).toBeGreaterThan(6);
  });

  it('allows itself nothing from elsewhere, and no inline script or style', async () => {
    const response = await fetch(url);
    expect(response.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'/,
    );
    expect(await response.text()).not.toMatch(
      /<style|style=|<script>|onclick|https?:\/\/(?!github\.com|floodgate-nest\.github\.io)/,
    );
    const statuses = ['../main.js', 'src/main.js', 'libs/rate-limit/src/index.js', 'nothing.js'].map(
      async (path) => (await fetch(`${url}${path}`)).status,
    );
    expect(await Promise.all(statuses)).toEqual([404, 404, 404, 404]);
  });
});
