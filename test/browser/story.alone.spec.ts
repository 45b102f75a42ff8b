import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { until } from '../support/faults/until.js';
import { BuiltApp } from './support/built-app.js';
import { type Frame, msOf, record, recorded } from './support/recording.js';
import { launch, Viewer } from './support/viewer.js';

/** A machine that is too busy for a run, as the page itself measures it, gets another one. */
const RUNS = 3;
jest.setTimeout(RUNS * 120_000);

const QUICK_MS = 500;
/** Matching works off its stale queue: 5 s of work, with a third of its capacity to spare. */
const RECOVERY_MS = 20_000;

let browser: Browser;

beforeAll(async () => {
  browser = await launch();
});

afterAll(async () => {
  await browser.close();
});

/**
 * Tells a story whose figures are only true on a quiet machine, of an application with the defaults that users get. If it fails and
 * the page has said that the machine was too busy, it is told again, of another one: the first one keeps its switches.
 *
 * @throws what the story throws, or an error with what the page said the last time
 */
async function tell(story: (viewer: Viewer) => Promise<void>): Promise<void> {
  const excuses: string[] = [];
  while (excuses.length < RUNS) {
    await using app = await BuiltApp.start();
    await using viewer = await Viewer.open(browser, app.url, { viewport: { width: 1440, height: 1000 } });
    const busy = async (): Promise<string> => {
      const frames = await recorded(viewer.page);
      const verdicts = await viewer.page.locator('#state, #verdicts').filter({ hasText: 'too busy' }).allInnerTexts();
      return [...frames.map((frame) => frame.busy), ...verdicts].findLast((text) => text !== '') ?? '';
    };
    try {
      await story(viewer);
      return;
    } catch (error) {
      const excuse = await busy();
      if (excuse === '') throw error;
      excuses.push(`${excuse} ${(error as Error).message}`);
    }
  }
  throw new Error(`the machine was too busy for ${RUNS} runs, as the page says:\n${excuses.join('\n')}`);
}

const during = (frames: readonly Frame[], phase: Frame['phase']): Frame[] =>
  frames.filter((frame) => frame.phase === phase);

/** The first frame from which on the left world is quick for the rest of the frames given. */
function quickFrom(frames: readonly Frame[]): Frame | undefined {
  const slow = frames.findLastIndex(({ worlds }) => (msOf(worlds.left.within) ?? Infinity) >= QUICK_MS);
  return frames[slow + 1];
}

it('one press: the left world fails, the right one does not, and limits bring the left one back', async () => {
  await tell(async (viewer) => {
    const { page } = viewer;
    await viewer.phase('ready');
    expect(await viewer.run.innerText()).toBe('Start the rush');
    expect(await viewer.switchOf('left').getAttribute('aria-checked')).toBe('false');
    expect(await viewer.switchOf('right').getAttribute('aria-checked')).toBe('true');
    await record(page);
    await viewer.run.click();
    await viewer.phase('surge');
    // The queue is the first alarm, long before a request fails.
    const waiting = async (): Promise<boolean> =>
      Number(await viewer.tile('left', 'waiting').locator('.value').innerText()) >= 20;
    await until('20 that wait', 4000, waiting);
    const { worlds: early } = (await recorded(page)).at(-1)!;
    expect([early.left.failedIsBad, early.right.failedIsBad, early.right.withinIsBad]).toEqual([false, false, false]);

    // Whoever sees the page for the first time has ten seconds.
    const red = async (): Promise<boolean> =>
      (await viewer.tile('left', 'failed').and(page.locator('[data-bad]')).count()) === 1 &&
      (await viewer.tile('left', 'within').and(page.locator('[data-bad]')).count()) === 1;
    await until('a left world that is red', 10_000, red);
    expect(await viewer.world('left').locator('.caption').innerText()).toMatch(
      /^(\d+ in \d+|Nearly all|All) gets? an error after up to \d/,
    );
    await page.waitForTimeout(11_000); // the table's ten seconds all lie behind the first failure
    const surge = during(await recorded(page), 'surge');
    expect(surge.length).toBeGreaterThan(50);
    for (const { worlds } of surge.slice(-40)) expect(worlds.left.failedIsBad && worlds.left.withinIsBad).toBe(true);
    for (const { worlds } of surge) {
      expect([worlds.right.failed, worlds.right.withinIsBad]).toEqual([expect.stringMatching(/^(0\s%|–)$/), false]);
    }
    await viewer.phase('recovery');
    await viewer.state.getByText('Limits are on in both worlds now.').waitFor(); // the left world says that it has taken them
    await viewer.phase('ending', 'ready');
    const recovery = during(await recorded(page), 'recovery');
    const switched = recovery.find(({ worlds }) => worlds.left.enforced)!;
    const quick = quickFrom(recovery);
    expect(quick).toBeDefined();
    expect(quick!.at - switched.at).toBeLessThanOrEqual(RECOVERY_MS);
    for (const { worlds } of recovery.filter(({ at }) => at >= switched.at + RECOVERY_MS)) {
      expect([worlds.left.failedIsBad, worlds.right.failedIsBad]).toEqual([false, false]);
    }

    await viewer.phase('ready');
    const verdicts = page.locator('#verdicts p');
    await until('the verdict', 15_000, async () => (await verdicts.count()) === 1);
    expect(await verdicts.innerText()).toMatch(
      /^(\d|1\d|20) s after the switch the left world was fast again, and stayed so\./,
    );
    expect(await viewer.state.innerText()).toMatch(
      /^In the rush \d+ in 100 requests failed on the left, and none failed on the right\.$/,
    );
    expect(await page.locator('#world-left').innerText()).toMatch(
      /Without limits\s+The rush\. Since then the limits are on\./,
    );
    expect(await page.locator('#world-left .caption').innerText()).toMatch(
      /requests got an error: .* within .*, as the queue was full, the others after up to [\d.]+\ss\.$/,
    );
    expect(await page.locator('#world-right .caption').innerText()).toMatch(/“not now” .*All others were served\.$/);
    // Estimates give way before rides, with limits alone.
    const parts = /^Rides: ([\d.]+)\s% served\. Estimates: ([\d.]+)\s%\.$/;
    const [rides, estimates] = parts
      .exec(await page.locator('#world-right .kinds').innerText())!
      .slice(1)
      .map(Number);
    expect(estimates).toBeLessThan(rides!);

    // The end stays, too, for who comes later.
    await page.reload();
    await viewer.live();
    await until('the verdict', 5000, async () => (await verdicts.count()) === 1);
    expect(await page.locator('#world-left .caption').innerText()).toMatch(/requests got an error/);
    await page.locator('#world-figures summary').click();
    await until('the end of the run', 5000, async () => {
      const newest = await page.locator('#world-figures tbody th').first().innerText();
      return Number(newest) >= 59;
    });
    expect(viewer.troubles).toEqual([]);
  });
});
