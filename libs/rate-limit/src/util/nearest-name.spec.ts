import { expect, it } from '@jest/globals';
import { nearestName } from './nearest-name.js';

const NAMES = ['host', 'port', 'db', 'password', 'username', 'maxRetriesPerRequest'];

it.each([
  ['hosst', 'host'],
  ['hots', 'host'], // a swap of neighbours is one edit
  ['hst1', undefined], // two edits are too many for four characters
  ['Port', 'port'],
  ['passwrod', 'password'],
  ['maxRetriesPerReqest', 'maxRetriesPerRequest'],
  ['user', undefined],
  ['x', undefined],
])('the name nearest to %p is %p', (misspelt, nearest) => {
  expect(nearestName(misspelt, NAMES)).toBe(nearest);
});
