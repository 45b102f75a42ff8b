import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import type { SurgePhase, WorldId } from '../../../demo/control-room/stage/surge-tick.js';
import { openPage } from './open-page.js';

/** A viewer of the page. It collects errors. */
export class Viewer implements AsyncDisposable {
  private constructor(
    readonly page: Page,
    readonly troubles: readonly string[],
  ) {}

  static async open(
    { browser, url }: { readonly browser: Browser; readonly url: string },
    options: BrowserContextOptions = {},
  ): Promise<Viewer> {
    const look = { viewport: { width: 1280, height: 900 }, ...options };
    const { page, troubles } = await openPage(browser, look, ({ origin }) => origin === url);
    const viewer = new Viewer(page, troubles);
    await page.goto(url);
    await viewer.live();
    return viewer;
  }

  /** Waits for the first figures, and for the simulation, which takes its place above them. */
  async live(): Promise<void> {
    // The phase comes with the first figures, which a page that only watches may not get.
    await this.page.locator('body:is([data-phase], :has(#watch:not([hidden])))').waitFor({ state: 'attached' });
    // The pill of the connection is hidden while all is well.
    await this.page.locator('#connection[data-state=live]').waitFor({ state: 'attached' });
    await this.page.locator('#hero:empty').waitFor({ state: 'detached' });
  }

  /** The one button. */
  get run(): Locator {
    return this.page.locator('#run');
  }

  private world(id: WorldId): Locator {
    return this.page.locator(`#world-${id}`);
  }

  /** How many requests for rides ended so in the rush. */
  figure(id: WorldId, name: 'served' | 'refused' | 'failed'): Locator {
    return this.world(id).locator(`.fh-${name} .fh-value`);
  }

  /** Waits for a phase of the surge. */
  async phase(...phases: SurgePhase[]): Promise<void> {
    const selector = phases.map((phase) => `body[data-phase=${phase}]`).join();
    // A phase of the run takes half a minute, and the start of the worlds some seconds.
    await this.page.locator(selector).waitFor({ timeout: 60_000 });
  }

  /** Presses the one button, once the worlds are ready, and waits for the surge. */
  async surge(): Promise<void> {
    await this.phase('ready');
    await this.run.click();
    await this.phase('surge');
  }

  /** Ends the run, if there is one. */
  async calm(): Promise<void> {
    await this.phase('ready', 'surge', 'recovery', 'ending');
    if (await this.run.evaluate((button) => button.classList.contains('stop'))) await this.run.click();
    await this.phase('ready');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
  }
}
