import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { makeVectors } from './families.js';
import { textOf } from './make.js';
import { ALGORITHMS, fileOf, vectorsOf } from './vector.js';

describe.each(ALGORITHMS)('the vectors of %s', (algorithm) => {
  it('are those that `npm run vectors` writes', () => {
    // Its first line that differs says more than two files.
    const linesOf = (text: string): string[] => text.split('\n');
    expect(linesOf(readFileSync(fileOf(algorithm), 'utf8'))).toEqual(linesOf(textOf(algorithm)));
    expect(vectorsOf(algorithm)).toEqual(makeVectors(algorithm));
  });

  it('are 200, all different, with admissions and rejections in each', () => {
    const vectors = vectorsOf(algorithm);
    expect(new Set(vectors.map(({ start, steps }) => JSON.stringify([start, steps]))).size).toBe(200);
    for (const { name, steps } of vectors) {
      const seen = new Set(steps.map(([, , , allowed]) => allowed));
      expect({ name, admits: seen.has(true), rejects: seen.has(false) }).toEqual({ name, admits: true, rejects: true });
    }
  });
});
