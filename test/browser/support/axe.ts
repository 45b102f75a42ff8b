import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const FILE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** What axe finds on a page as it is now, each with its element. */
export async function violations(page: Page): Promise<string[]> {
  // The debugger evaluates it, so the page's Content-Security-Policy stays as it is.
  await page.evaluate(await readFile(FILE, 'utf8'));
  const { violations: found } = await page.evaluate<AxeResults>('axe.run(document, { resultTypes: ["violations"] })');
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary ?? ''}`),
  );
}
