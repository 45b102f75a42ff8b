import { describe, expect, it } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import { algorithmOf } from '../../../../../test/support/algorithm-of.js';
import type { Charge } from '../store.js';
import { ClusterRouting, ONE_LANE } from './routing.js';

const algorithm = algorithmOf({ algorithm: 'fixed-window', limit: 5, window: '1h' });
const charge = (key: string, shardKeys?: readonly string[]): Charge => ({ key, algorithm, cost: 1, shardKeys });

describe('ClusterRouting', () => {
  const routing = new ClusterRouting('shop:');

  it('takes the slot of the whole key, prefix included, as the lane', () => {
    expect(routing.laneOf([charge('a')])).toBe(calculateSlot('shop:a'));
    expect(routing.slotOf('a')).not.toBe(calculateSlot('a'));
  });

  it.each<[string, Charge[], boolean]>([
    ['one key', [charge('{a}:1')], false],
    ['keys of one slot', [charge('{a}:1'), charge('{a}:2')], false],
    ['keys of two slots', [charge('{a}:1'), charge('{b}:1')], true],
    ['a sharded key', [charge('{a}:1', ['{a}:1/0', '{a}:1/1'])], true],
    ['a sharded key behind another one', [charge('{a}:1'), charge('{a}:2', ['{a}:2/0'])], true],
  ])('%s: cross-slot is %p', (_, charges, isCrossSlot) => {
    expect(routing.isCrossSlot(charges)).toBe(isCrossSlot);
  });
});

it('one server has one lane for all keys', () => {
  expect([ONE_LANE.laneOf([charge('a')]), ONE_LANE.laneOf([charge('b')])]).toEqual([0, 0]);
  expect(ONE_LANE.isCrossSlot([charge('a'), charge('b', ['b/0'])])).toBe(false);
});
