import { expect, it } from '@jest/globals';
import { didYouMean, nearestName } from './nearest-name.js';

const NAMES = ['host', 'port', 'db', 'password', 'username', 'maxRetriesPerRequest', 'policies'];

it.each([
  ['hosst', 'host'],
  ['hots', 'host'], // a swap of neighbours is one edit
  ['hst1', undefined], // two edits are too many for four characters
  ['Port', 'port'],
  ['passwrod', 'password'],
  ['maxRetriesPerReqest', 'maxRetriesPerRequest'],
  ['policy', 'policies'], // one for several, whatever the ending
  ['hosts', 'host'],
  ['user', undefined],
  ['x', undefined],
  ['', undefined],
])('the name nearest to %p is %p', (misspelt, nearest) => {
  expect(nearestName(misspelt, NAMES)).toBe(nearest);
  expect(didYouMean(misspelt, NAMES)).toBe(nearest === undefined ? '' : ` Did you mean '${nearest}'?`);
});

it('a name that is there is nearer than its plural', () => {
  expect(nearestName('Plans', ['plan', 'plans'])).toBe('plans');
});

/** The definition, over the whole matrix. */
function distance(one: string, other: string): number {
  const rows = Array.from({ length: one.length + 1 }, (_, i) =>
    Array.from({ length: other.length + 1 }, (__, j) => (i === 0 ? j : i)),
  );
  for (let i = 1; i <= one.length; i++) {
    for (let j = 1; j <= other.length; j++) {
      const swap = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      rows[i]![j] = Math.min(
        rows[i - 1]![j - 1]! + Number(one[i - 1] !== other[j - 1]),
        rows[i - 1]![j]! + 1,
        rows[i]![j - 1]! + 1,
        swap ? rows[i - 2]![j - 2]! + 1 : Infinity,
      );
    }
  }
  return rows[one.length]![other.length]!;
}

it('finds exactly the names within two edits, by the definition of the distance', () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  const text = (): string => Array.from({ length: 6 + random(2) }, () => 'ab'[random(2)]).join('');
  const found = { near: 0, far: 0 };
  for (let i = 0; i < 20_000; i++) {
    const [given, name] = [text(), text()];
    const isNear = distance(given, name) <= 2;
    found[isNear ? 'near' : 'far']++;
    if ((nearestName(given, [name]) === name) !== isNear) throw new Error(`${given} and ${name}`);
  }
  expect(Math.min(found.near, found.far)).toBeGreaterThan(1000);
});

// Without a bound, one name of 95,000 characters takes minutes, and the test times out.
it.each([95_000, 128])(
  'takes no longer with a thousand names, of which each is as long and nearly the same: %d',
  (length) => {
    const given = 'a'.repeat(length);
    const names = Array.from({ length: 1000 }, (_, i) => `${given.slice(0, -6)}${i}`);
    expect(nearestName(given, names)).toBe(undefined);
  },
);
