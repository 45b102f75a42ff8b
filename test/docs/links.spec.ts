import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ORIGIN } from '../../site/build/pages.js';
import { pageOf, problemOf, REPOSITORY } from './support/links.js';
import { OTHER_PAGES, PAGES, ROOT, textOf } from './support/pages.js';
import { unknownCommands } from './support/shell.js';

const LONGEST_README = 151;
/** Words that stand for something else: DESIGN.md, section 2. */
const REPLACED: readonly [RegExp, string][] = [
  [/\btiers?\b/i, 'plan'],
  [/\baskers?\b/i, 'identity'],
  [/\blifelines?\b/i, 'connection watchdog'],
  [/\bwaiters?\b/i, 'pending request'],
  [/\bgiveBack\b|\bgive back\b/i, 'refund'],
  [/\bremembered refusals?\b/i, 'denial cache'],
  [/\bleaveQueue\b|\bTakenCharge\b/, 'refund, receipt'],
  [/\bin turn\b.*\bslots?\b/i, 'cross-slot'],
];

describe.each([...PAGES, ...OTHER_PAGES])('%s', (path) => {
  it('has no link and no anchor that leads nowhere', () => {
    const problems = pageOf(path).links.flatMap(({ line, url }) => {
      const problem = problemOf(path, url);
      return problem === undefined ? [] : [`${path}:${line}: ${problem}`];
    });
    expect(problems).toEqual([]);
  });
});

describe.each(PAGES)('%s', (path) => {
  it('uses the words of the design', () => {
    const lines = textOf(path).split('\n');
    const found = lines.flatMap((line, i) =>
      REPLACED.filter(([pattern]) => pattern.test(line)).map(
        ([pattern, word]) => `${path}:${i + 1}: ${pattern}, say ${word}`,
      ),
    );
    expect(found).toEqual([]);
  });
});

describe.each(OTHER_PAGES)('%s', (path) => {
  it('names only programs and npm scripts that exist', () => {
    const blocks = pageOf(path).fences.filter(({ lang }) => lang === 'sh');
    expect(blocks.flatMap(({ value }) => unknownCommands(value))).toEqual([]);
  });
});

it.each(['control-room', 'playground'])('the page of the %s links pages and anchors that the site has', (name) => {
  const html = readFileSync(`${ROOT}demo/${name}/page/index.html`, 'utf8');
  const links = Array.from(html.matchAll(/href="(https:[^"]+)"/g), ([, url]) => url!);
  expect(links.length).toBeGreaterThan(1);
  expect(links.filter((url) => !url.startsWith(ORIGIN) || problemOf('', url) !== undefined)).toEqual([]);
});

it('the README is short', () => {
  expect(textOf('README.md').split('\n').length).toBeLessThanOrEqual(LONGEST_README);
});

it('the index of docs/, with the list of recipes, and llms.txt name every page of docs/', () => {
  const docs = PAGES.filter((path) => path.startsWith('docs/') && path !== 'docs/README.md');
  const linked = (from: string): string[] =>
    pageOf(from).links.map(({ url }) => normalize(join(dirname(from), url.replace(REPOSITORY, ''))));
  const listed = [...linked('docs/README.md'), ...linked('docs/recipes.md')];
  expect(docs.filter((path) => !listed.includes(path))).toEqual([]);
  expect(docs.filter((path) => !linked('llms.txt').includes(path))).toEqual([]);
});
