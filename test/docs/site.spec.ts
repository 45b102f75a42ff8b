import { describe, expect, it } from '@jest/globals';
import { fitted } from '../../site/build/fit.js';
import { neighboursOf, SIDEBAR, sitePages } from '../../site/build/pages.js';
import { descriptionOf } from '../../site/build/social.js';

describe('the pager', () => {
  it.each([
    ['next', '/quick-start'],
    ['prev', '/benchmarks'],
  ] as const)('leads through all pages of the sidebar, each once: %s from %s', (to, first) => {
    const pages = SIDEBAR.flatMap(({ items }) => items.map(({ link }) => link.replace(/#.*/, '')));
    const walked: string[] = [];
    for (let link: string | undefined = first; link !== undefined;) {
      walked.push(link);
      const neighbour: { readonly link: string } | false = neighboursOf(link.slice(1))[to];
      link = neighbour === false ? undefined : neighbour.link;
    }
    expect(walked.toSorted()).toEqual([...new Set(pages)].toSorted());
  });

  it('offers nothing on a page that the sidebar does not have', () => {
    expect(neighboursOf('reference/api-client')).toEqual({ prev: false, next: false });
  });
});

describe('the description of a page', () => {
  it('is one of its own', () => {
    const written = [...sitePages().keys()].filter((path) => !path.startsWith('site/generated/'));
    const texts = written.map(descriptionOf);
    expect(written.filter((_, i) => texts[i] === undefined || texts.indexOf(texts[i]) !== i)).toEqual([]);
  });

  it.each([
    ['docs/mcp.md', 'a limit for each tool, resource and prompt of @rekog/mcp-nest'],
    ['docs/recipe-in-flight.md', 'At most three exports of a user run at once, over all processes.'],
  ])('of %s is what llms.txt says, or its first paragraph', (path, text) => {
    expect(descriptionOf(path)).toBe(text);
  });
});

describe('code of the reference', () => {
  const page = (code: string): string =>
    ['- a', '', `  \`\`\`ts\n  ${code.replaceAll('\n', '\n  ')}\n  \`\`\``, ''].join('\n');

  it.each([
    [
      'a signature',
      'function limitRequests(limiter: RateLimiter, policies: LimiterPolicy | readonly LimiterPolicy[]): Passes;',
      'function limitRequests(\n  limiter: RateLimiter,\n  policies: LimiterPolicy | readonly LimiterPolicy[],\n): Passes;',
    ],
    [
      'an object',
      "{ algorithm: 'leaky-bucket', capacity: 5_000, drain: 3_000, by: 'global', name: 'index' }",
      "{\n  algorithm: 'leaky-bucket',\n  capacity: 5_000,\n  drain: 3_000,\n  by: 'global',\n  name: 'index',\n}",
    ],
    [
      'members of an object',
      "plan: { resolve: ({ user }: RateLimitRequest<{ user: User }>) => planOf(user), cacheFor: '1m' }",
      "plan: {\n  resolve: ({ user }: RateLimitRequest<{ user: User }>) => planOf(user),\n  cacheFor: '1m',\n}",
    ],
  ])('is broken into lines that fit: %s', async (_, given, shown) => {
    expect(await fitted(page(given))).toBe(page(shown));
  });

  it.each(['short( 1 )', `const jobs = { ..., client: ${'x'.repeat(80)} }`])('stays as it is: %s', async (code) => {
    expect(await fitted(page(code))).toBe(page(code));
  });
});
