import { expect, it } from '@jest/globals';
import { isZone, zoneOf } from './zone.js';

const ZONE = zoneOf({ lat: 40.7505, lng: -73.9934 });

it('accepts cells of its resolution', () => {
  expect(ZONE).toBe('872a100d2ffffff');
  expect(isZone(ZONE)).toBe(true);
});

it.each([
  ['another resolution', '882a100d29fffff'],
  ['upper case, which would be the same ground under another name', ZONE.toUpperCase()],
  ['a prefix', `0x${ZONE}`],
  ['no cell', '872a100d2fffffg'],
  ['an invalid index', '871111111111111'],
  ['nothing', ''],
  ['a name every object has', '__proto__'],
])('refuses %s', (_, text) => {
  expect(isZone(text)).toBe(false);
});
