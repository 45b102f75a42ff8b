import { describe, expect, it } from '@jest/globals';
import type { BrowserContextOptions, Locator } from 'playwright-core';
import { dotsOf, KINDS } from '../../../demo/explained/draw.js';
import { FIGURES, type Idea } from '../../../demo/explained/figures.js';
import { defaultsOf, type Figure, type Settings } from '../../../demo/explained/scene.js';
import { type Look, useSite, type Visit } from '../support/built-site.js';

const site = useSite();

describe('rate limiting, explained', () => {
  const IDEAS = Object.keys(FIGURES) as Idea[];
  /** A film takes 4 s, and a busy machine draws its last frame late. */
  const FILM_MS = 10_000;
  const calm: BrowserContextOptions = { reducedMotion: 'reduce' };

  const open = (options?: Look): Promise<Visit> => site.visit('explained', options);
  const figureOf = ({ page }: Visit, idea: Idea): Locator => page.locator('figure.idea').nth(IDEAS.indexOf(idea));
  const says = (figure: Locator): Promise<string> => figure.locator('figcaption').innerText();
  /** The dots of each kind, in the order of drawing. */
  const dots = (figure: Locator): Promise<(string | null)[]> =>
    figure.locator('path.dots').evaluateAll((paths) => paths.map((path) => path.getAttribute('d')));

  it.each(IDEAS)('plays the figure of the %s once it is in view, without the network, and again', async (idea) => {
    // So low that no figure is in view before.
    await using visited = await open({ viewport: { width: 1440, height: 420 } });
    const figure = figureOf(visited, idea);
    const { rows, end: ends } = FIGURES[idea].sceneOf(defaultsOf(FIGURES[idea]));
    const end = rows.flatMap((row) => KINDS.map((kind) => dotsOf(row, kind, ends)));
    expect(await dots(figure)).toEqual(end);
    await visited.page.context().setOffline(true);
    await figure
      .locator('.plot')
      .first()
      .evaluate((plot) => plot.scrollIntoView({ block: 'center' }));
    const [pause, replay] = ['Pause', 'Replay'].map((name) => figure.getByRole('button', { name }));
    await pause!.waitFor();
    await pause!.click();
    expect(await dots(figure)).not.toEqual(end);
    await figure.getByRole('button', { name: 'Play', exact: true }).click();
    await replay!.waitFor({ timeout: FILM_MS });
    expect(await dots(figure)).toEqual(end);
    await replay!.click();
    await pause!.waitFor();
    expect(visited.troubles).toEqual([]);
  });

  it.each(IDEAS)('sets the figure of the %s with a keyboard, and it says at once what happens', async (idea) => {
    await using visited = await open(calm);
    const figure = figureOf(visited, idea);
    const { keyboard } = visited.page;
    const model: Figure = FIGURES[idea];
    let settings: Settings = defaultsOf(model);
    const expectModel = async (): Promise<void> => expect(await says(figure)).toBe(model.sceneOf(settings).says);
    await expectModel();
    for (const { name, label, options, min, max, step, value } of model.controls) {
      const control =
        options === undefined ? figure.getByLabel(label) : figure.getByRole('radio', { name: options[value]! });
      await control.focus();
      await keyboard.press('ArrowRight');
      settings = { ...settings, [name]: value + step };
      await expectModel();
      if (options !== undefined) continue;
      for (const [key, at] of [
        ['Home', min],
        ['End', max],
      ] as const) {
        await keyboard.press(key);
        settings = { ...settings, [name]: at };
        await expectModel();
      }
    }
    // Where motion is unwanted nothing plays by itself.
    await figure.getByRole('button', { name: 'Replay' }).waitFor();
    expect(visited.troubles).toEqual([]);
  });

  it('shows its figures and their sentences without a script', async () => {
    await using visited = await open({ javaScriptEnabled: false });
    for (const idea of IDEAS) {
      const figure = figureOf(visited, idea);
      expect(await says(figure)).toBe(FIGURES[idea].sceneOf(defaultsOf(FIGURES[idea])).says);
    }
    expect(await visited.page.locator('figure.idea path.dots.served[d^=M]').count()).toBe(9);
  });

  it('is linked from the first page and from the sidebar', async () => {
    await using visited = await site.visit('');
    const { page } = visited;
    expect(await page.getByRole('link', { name: 'Rate limiting, explained' }).count()).toBe(2);
    await page.goto(`${site.url}quick-start`);
    await page.locator('.VPSidebar').getByRole('link', { name: 'Rate limiting, explained' }).click();
    await page.getByRole('heading', { level: 1, name: 'Rate limiting, explained' }).waitFor();
    await page.locator('figure.idea').first().waitFor();
    expect(visited.troubles).toEqual([]);
  });
});
