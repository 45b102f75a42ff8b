import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ALGORITHM_NAMES, algorithmNumber } from '../libs/rate-limit/src/algorithms/registry.js';

interface Bundler {
  readonly ALGORITHMS: readonly string[];
  readonly TARGET: URL;
  readonly bundle: () => string;
}

// Its type is said here: the bundler is plain JavaScript, so that npm can run it before anything is built.
const { ALGORITHMS, TARGET, bundle } = (await import(pathToFileURL(resolve('lua/bundle.js')).href)) as Bundler;

describe('the Lua program in the library', () => {
  it('is what lua/bundle.js makes of its sources (npm run lua:bundle)', () => {
    expect(readFileSync(TARGET, 'utf8')).toBe(bundle());
  });

  it("numbers the algorithms as the library's registry does", () => {
    expect(ALGORITHMS).toEqual(ALGORITHM_NAMES);
    expect(ALGORITHM_NAMES.map(algorithmNumber)).toEqual([1, 2, 3, 4, 5]);
  });

  it('has every algorithm, and nothing that is left to be filled in', () => {
    const text = bundle();
    for (const i of ALGORITHMS.keys()) expect(text).toContain(`if algorithm == ${i + 1} then`);
    expect(text).not.toMatch(/--@|\b(?:TOKEN|LEAKY)_BUCKET\b/);
  });
});
