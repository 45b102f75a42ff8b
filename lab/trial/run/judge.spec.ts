import { describe, expect, it } from '@jest/globals';
import type { Definition } from '../adapter.js';
import type { Asked } from './asked.js';
import { excess, most } from './judge.js';

const LIMIT = { limit: 3, windowMs: 1_000 };

function passed(sent: number, answered = sent, cost = 1): Asked {
  return { process: 'A', key: 'key', cost, sent, answered, answer: 'allowed' };
}

describe('the most that a limiter may admit', () => {
  it.each<[Definition, number[]]>([
    ['log', [3, 3, 6, 9]],
    ['window', [6, 6, 9, 12]],
    ['counter', [5, 5, 8, 11]],
    ['bucket', [3, 5.997, 6, 9]],
  ])('of a %s', (definition, expected) => {
    expect([0, 999, 1_000, 2_000].map((length) => most(definition, LIMIT, length))).toEqual(expected);
  });
});

describe('an excess', () => {
  const excessOf = (...history: Asked[]) => excess(history, (length) => most('log', LIMIT, length), 'too much');

  it('is shown by the fewest requests', () => {
    const large = passed(40, 41, 4);
    expect(excessOf(passed(0), passed(10), passed(20), passed(30), large)).toEqual({
      why: 'too much',
      history: [large],
    });
  });

  it('has no rejected request', () => {
    const history = [0, 1, 2, 3].map((at) => passed(at));
    expect(excessOf({ ...passed(0), answer: 'rejected' }, ...history)?.history).toEqual(history);
  });

  it('is none if the answers may have been a window apart', () => {
    expect(excessOf(passed(0), passed(1), passed(2), passed(3, 1_000))).toBeUndefined();
    expect(excessOf(passed(0), passed(1), passed(2), passed(3, 999))).toBeDefined();
  });
});
