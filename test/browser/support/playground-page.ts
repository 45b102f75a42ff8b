import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { openPage } from './open-page.js';

export type Stat = 'remaining' | 'reset' | 'passed' | 'rejected' | 'most';

/** The playground in a browser. It collects errors. */
export class PlaygroundPage implements AsyncDisposable {
  private constructor(
    readonly page: Page,
    readonly troubles: readonly string[],
  ) {}

  static async open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<PlaygroundPage> {
    const look = { viewport: { width: 1440, height: 900 }, ...options };
    const own = new URL(url);
    const isOwn = ({ protocol, host }: URL): boolean => protocol === own.protocol && host === own.host;
    const { page, troubles } = await openPage(browser, look, isOwn);
    const playground = new PlaygroundPage(page, troubles);
    await page.goto(url);
    await page.locator('article').first().getByText('Remaining').waitFor();
    return playground;
  }

  row(algorithm: string): Locator {
    return this.page.locator(`[data-algorithm=${algorithm}]`);
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole('button', { name, exact: typeof name === 'string' });
  }

  /** Shows all six rows, and opens the drawer. */
  async more(): Promise<void> {
    await this.button(/^All six/).click();
    await this.page.getByText('More traffic, and the numbers').click();
  }

  /** Begins anew, and stands still. */
  async clear(): Promise<void> {
    if (await this.button('Pause').isVisible()) await this.button('Pause').click();
    await this.button('Clear').click();
  }

  stat(algorithm: string, name: Stat): Promise<string> {
    return this.row(algorithm).locator(`[data-stat=${name}]`).innerText();
  }

  /** What each row in view shows of a figure, from top to bottom. */
  stats(name: Stat): Promise<string[]> {
    return this.page.locator(`article:visible [data-stat=${name}]`).allInnerTexts();
  }

  /** The question, and the button of the preset that is pressed, if any is. */
  async asked(): Promise<readonly [string, string[]]> {
    const pressed = this.page.locator('#presets [aria-pressed=true]');
    return [await this.page.locator('#question').innerText(), await pressed.allInnerTexts()];
  }

  /** The pixels of all pictures, with their text in the page's font. */
  async pictures(): Promise<string[]> {
    await this.page.evaluate(async () => {
      await document.fonts.ready;
      await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    });
    return this.page.locator('canvas').evaluateAll((all) => all.map((one) => (one as HTMLCanvasElement).toDataURL()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
  }
}
