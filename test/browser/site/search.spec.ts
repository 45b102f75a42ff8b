import { describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { useSite } from '../support/built-site.js';

const site = useSite();

/** What a developer looks for, in their words, and the page that has it. */
const TASKS: Readonly<Record<string, string>> = {
  'limit login attempts': 'recipe-failed-logins',
  throttler: 'migration',
  '429 headers': 'http',
  'Redis down': 'failures',
  cluster: 'redis',
  'proxy IP': 'production',
  GraphQL: 'contexts',
  'websocket key': 'contexts',
  queue: 'recipe-partner-queue',
  'test limits jest': 'testing',
  'reset a user': 'admin',
  'metrics grafana': 'metrics',
  'monthly quota': 'recipe-monthly-quota',
  'express without nest': 'without-nest',
  'tokens LLM': 'recipe-token-budget',
  'MCP agent': 'mcp',
  'rolling deploy': 'production',
  'shadow mode': 'shadow',
  'cost per request': 'settling',
  'blocked client': 'admin',
  'outbound API limit': 'outbound',
  'plans per tenant': 'plans',
  priority: 'priorities',
  changelog: 'changelog',
  Upstash: 'redis',
  Dragonfly: 'redis',
};

const addresses = (links: Locator): Promise<string[]> =>
  links.evaluateAll((all) => all.map((link) => link.getAttribute('href')!));

/** The addresses of the first three results. */
async function search(page: Page, query: string): Promise<string[]> {
  await page.evaluate(() => sessionStorage.clear()); // the search before
  await page.getByRole('button', { name: 'Search' }).first().click();
  await page.locator('#localsearch-input').fill(query);
  const results = page.locator('#localsearch-list a');
  await results.first().waitFor();
  return (await addresses(results)).slice(0, 3);
}

describe('the search of the site', () => {
  it.each([
    ['token bucket', /algorithms#token-bucket$/],
    ['kubernetes', /production#run-on-kubernetes$/],
    ['FG_TRUST_PROXY', /errors#fg_trust_proxy$/],
  ])('finds the right page of %s first', async (query, address) => {
    await using visited = await site.visit('');
    const [first] = await search(visited.page, query);
    expect(first).toMatch(address);
  });

  it("finds the page of each of a developer's tasks among the first three, and the sidebar has it", async () => {
    await using visited = await site.visit('docs');
    const { page } = visited;
    const sidebar = await addresses(page.locator('.VPSidebar a'));
    const found: Record<string, string> = {};
    for (const [query, wanted] of Object.entries(TASKS)) {
      const pages = (await search(page, query)).map((address) => address.split('#')[0]!);
      await page.keyboard.press('Escape');
      found[query] = pages.includes(`${site.base}${wanted}`) ? wanted : pages.join(', ');
    }
    expect(found).toEqual(TASKS);
    const listed = sidebar.map((address) => address.split('#')[0]!.slice(site.base.length));
    expect(Object.values(TASKS).filter((wanted) => !listed.includes(wanted))).toEqual([]);
  });
});
