import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

export interface OpenPage {
  readonly page: Page;
  /** Messages of the browser's console, errors of the page, and requests that are not its own. */
  readonly troubles: string[];
}

/** A page in a context of its own. It collects errors. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions,
  isOwn: (request: URL) => boolean,
): Promise<OpenPage> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const troubles: string[] = [];
  page.on('console', (message) => troubles.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => troubles.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (!isOwn(new URL(request.url()))) troubles.push(`request: ${request.url()}`);
  });
  return { page, troubles };
}
