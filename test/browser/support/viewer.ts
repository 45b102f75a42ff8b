import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';
import { requireProgram } from '../../../tools/programs.js';

export function launch(): Promise<Browser> {
  // Containers run as root, where Chromium's sandbox does not start.
  const args = process.getuid?.() === 0 ? ['--no-sandbox', '--disable-dev-shm-usage'] : [];
  return chromium.launch({ executablePath: requireProgram('chromium'), args, timeout: 30_000 });
}

/** A viewer of the page. It collects errors. */
export class Viewer implements AsyncDisposable {
  /** Messages of the browser's console, errors of the page, and requests to other hosts. */
  readonly troubles: string[] = [];

  private constructor(readonly page: Page) {}

  static async open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Viewer> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    const viewer = new Viewer(page);
    page.on('console', (message) => viewer.troubles.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => viewer.troubles.push(`error: ${error.message}`));
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== new URL(url).origin) viewer.troubles.push(`request: ${request.url()}`);
    });
    await page.goto(url);
    await page.locator('#connection[data-state=live]').waitFor();
    await page.locator('[data-lane=rides] [data-full]').first().waitFor();
    return viewer;
  }

  get concert(): Locator {
    return this.page.locator('#concert-button');
  }

  get enforcement(): Locator {
    return this.page.getByRole('switch', { name: 'Limits enforced' });
  }

  get rider(): Locator {
    return this.page.getByRole('combobox', { name: 'The rider' });
  }

  lane(id: string): Locator {
    return this.page.locator(`[data-lane=${id}]`);
  }

  /** The fill of a policy's picture, 0 to 1. */
  async full(lane: string, policy: string): Promise<number> {
    const full = await this.lane(lane).locator(`[data-policy=${policy}]`).getAttribute('data-full');
    return Number(full ?? Number.NaN);
  }

  /** The number beside a chart. */
  async value(name: string): Promise<number> {
    const text = await this.page.locator(`figure [data-value=${name}]`).innerText();
    return Number.parseFloat(text.replaceAll(',', ''));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
  }
}
