import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { ALGORITHM_NAMES } from '../../libs/rate-limit/src/algorithms/algorithms.js';

const WORDS = ['none', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
const COUNT = new RegExp(String.raw`\b(${WORDS.slice(1).join('|')})\s+(?:exact |rate limiting )?algorithms\b`, 'gi');

/** Everything that tells users how many algorithms there are. The changelog tells what there was. */
const FILES = [
  'README.md',
  'llms.txt',
  'package.json',
  'libs/rate-limit/README.md',
  'libs/rate-limit/package.json',
  'libs/playground/page/index.html',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

it('each text that counts the algorithms counts those that there are', () => {
  const counts = FILES.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(COUNT)].map(([, word]) => ({ file, count: word!.toLowerCase() })),
  );
  const right = WORDS[ALGORITHM_NAMES.length];
  expect(counts.filter(({ count }) => count !== right)).toEqual([]);
  expect(counts.length).toBeGreaterThan(4);
});
