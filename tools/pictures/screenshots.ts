// `npm run screenshots`: takes the pictures of the README and of docs/ from the built application, each in light and dark.
import { mkdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { launch } from '../browser.js';
import { exitWithUsage, optionsOf } from '../command-line.js';
import { BUILT_APPLICATION, ServiceProcess } from '../service-process.js';

const FOLDER = fileURLToPath(new URL('../../docs/images/', import.meta.url));
const THEMES = ['light', 'dark'] as const;
const VIEWPORT = { width: 1280, height: 960 };
/** For displays with two pixels a point. */
const SCALE = 2;
/** Of the surge, in which the page draws as little as it can, so that the run has the machine. */
const CALM_MS = 14_000;
/** Then requests fly. The picture is taken at about second 20 of the run. */
const MOVING_MS = 6_000;
const LOOK_MS = 250;
/** Processes start, and the machine may be busy. */
const PATIENCE_MS = 120_000;
/** The page draws once more with the colours of the other theme. */
const REDRAW_MS = 1500;
const MARGIN = 12;

const VIEWS = { worlds, pods, playground } as const;
type View = keyof typeof VIEWS;

const USAGE = `npm run screenshots -- [options]
  --only NAME  this picture, ${Object.keys(VIEWS).join(', ')}; may be given several times (all)
  --tries N    runs until the machine is quiet enough (5)`;
const values = optionsOf(USAGE, {
  only: { type: 'string', multiple: true },
  tries: { type: 'string', default: '5' },
});
const tries = Number(values.tries);
if (!Number.isInteger(tries) || tries < 1)
  exitWithUsage(USAGE, `--tries is "${values.tries}", expected a whole number from 1`);
const wanted = values.only ?? Object.keys(VIEWS);
const unknown = wanted.filter((name) => !(name in VIEWS));
if (unknown.length > 0) exitWithUsage(USAGE, `--only is "${unknown[0]}", expected ${Object.keys(VIEWS).join(', ')}`);

mkdirSync(FOLDER, { recursive: true });
await using app = await ServiceProcess.start(BUILT_APPLICATION);
await using browser = await launch();
for (const name of wanted) await VIEWS[name as View](browser, app.url);

/** The two worlds in the surge, of a run that the machine could carry: the pictures show true figures, or none are taken. */
async function worlds(of: Browser, url: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const page = await open(of, url, { reducedMotion: 'reduce' });
    const problem = await tryWorlds(page);
    if (problem === undefined) return close(page);
    if (await isRunning(page)) await page.locator('#run').click();
    await page.locator('body[data-phase=ready]').waitFor();
    await close(page);
    if (attempt === tries) throw new Error(`no picture of the worlds after ${tries} runs: ${problem}`);
    console.log(`run ${attempt} of ${tries}: ${problem}`);
  }
}

/** @returns why the picture is not true; undefined when it has been taken */
async function tryWorlds(page: Page): Promise<string | undefined> {
  await page.locator('#run:not([disabled])').click();
  await page.locator('body[data-phase=surge]').waitFor();
  await page.waitForTimeout(CALM_MS);
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  const notice = page.locator('#busy');
  for (const end = performance.now() + MOVING_MS; performance.now() < end;) {
    // The notice stays for five seconds, which is more than the picture takes.
    if (await notice.isVisible()) return notice.innerText();
    await page.waitForTimeout(LOOK_MS);
  }
  if (!(await isRunning(page))) return 'the run ended too early';
  const fails = async (id: string): Promise<boolean> =>
    (await page.locator(`#world-${id} .fh-failed .fh-value:not([data-none])`).count()) > 0;
  if (!(await fails('left'))) return 'all is well without limits';
  if (await fails('right')) return 'not all is well with limits';
  await page.mouse.move(0, 0);
  await shoot(page, 'worlds', ['.deck', '.worlds']);
  return undefined;
}

async function isRunning(page: Page): Promise<boolean> {
  return (await page.locator('#run').innerText()).startsWith('Stop');
}

/** What each way of counting answers, side by side. */
async function pods(of: Browser, url: string): Promise<void> {
  const page = await open(of, url);
  const place = page.locator('#pods');
  const send = async (title: string): Promise<void> => {
    const card = place.locator('section').filter({ has: page.getByRole('heading', { name: title }) });
    await place.getByRole('button', { name: 'Send 25 to each' }).click();
    await card.and(page.locator('[data-newest]')).waitFor();
  };
  await send('No shared store');
  await place.getByRole('radio', { name: 'One Redis' }).check();
  await place.getByText('All count in one Redis, which this page has started').waitFor();
  await send('One Redis');
  await place.getByRole('button', { name: 'Stop Redis' }).click();
  await place.getByText('18 in all, and no error').first().waitFor();
  await send('Redis stopped');
  await page.mouse.move(0, 0); // off the button
  await shoot(page, 'pods', ['#pods']);
  await place.getByRole('button', { name: 'Start Redis' }).click();
  await place.getByRole('button', { name: 'Stop Redis' }).waitFor();
  await place.getByRole('radio', { name: 'No shared store' }).check();
  await close(page);
}

/** The question that the playground opens with. */
async function playground(of: Browser, url: string): Promise<void> {
  const page = await of.newPage({ viewport: VIEWPORT, deviceScaleFactor: SCALE });
  await page.goto(`${url}/playground/`);
  await page.locator('article').first().getByText('Remaining').waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.mouse.move(0, 0); // off the button
  await shoot(page, 'playground', ['header', '#controls']);
  await close(page);
}

async function open(of: Browser, url: string, options: { reducedMotion?: 'reduce' } = {}): Promise<Page> {
  const page = await of.newPage({ viewport: VIEWPORT, deviceScaleFactor: SCALE, ...options });
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(url);
  await page.locator('#connection[data-state=live]').waitFor({ state: 'attached' });
  return page;
}

/** Each context of the browser ends with its page. */
async function close(page: Page): Promise<void> {
  await page.context().close();
}

/** Takes a picture in both themes, from the first to the last of the elements and as wide as the page. */
async function shoot(page: Page, name: View, elements: readonly [string, ...string[]]): Promise<void> {
  const boxes = await Promise.all(
    elements.map((selector) =>
      page
        .locator(selector)
        .first()
        .evaluate((element) => {
          const { top, bottom } = element.getBoundingClientRect();
          return { top: top + window.scrollY, bottom: bottom + window.scrollY };
        }),
    ),
  );
  const y = Math.max(0, Math.min(...boxes.map(({ top }) => top)) - MARGIN);
  const height = Math.max(...boxes.map(({ bottom }) => bottom)) + MARGIN - y;
  for (const colorScheme of THEMES) {
    await page.emulateMedia({ colorScheme });
    await page.waitForTimeout(REDRAW_MS);
    const path = `${FOLDER}${name}-${colorScheme}.png`;
    await page.screenshot({
      path,
      fullPage: true,
      clip: { x: 0, y, width: VIEWPORT.width, height },
      caret: 'hide',
    });
    console.log(`docs/images/${name}-${colorScheme}.png, ${Math.round(statSync(path).size / 1000)} kB`);
  }
}
