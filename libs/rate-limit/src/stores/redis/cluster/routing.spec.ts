import { describe, expect, it, jest } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import { algorithmOf } from '../../../../../../test/support/algorithm-of.js';
import type { Charge } from '../../store.js';
import { Script } from '../batch/script.js';
import { OneServer } from '../one-server.js';
import { ClusterRouting } from './routing.js';

const algorithm = algorithmOf({ algorithm: 'fixed-window', limit: 5, window: '1h' });
const charge = (key: string, shardKeys?: readonly string[]): Charge => ({ key, algorithm, cost: 1, shardKeys });

const never = jest.fn<never>();
const runner = { keyPrefix: '', runByHash: never, runByText: never, failureOf: never };
const script = new Script(runner, { clock: undefined, maxSkew: 0 });

describe('ClusterRouting', () => {
  const routing = new ClusterRouting({ masterOf: (slot) => `node-${slot}` }, 'shop:', script);

  it('takes the slot of the whole key, prefix included, as the lane', () => {
    expect(routing.laneOf([charge('a')]).node).toBe(`node-${calculateSlot('shop:a')}`);
    expect(routing.laneOf([charge('a')])).toBe(routing.laneOfKey('a'));
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
  const server = new OneServer(script);
  expect(server.laneOf()).toBe(server.laneOfKey());
  expect(server.laneOfCharge()).toBe(server.laneOfKey());
});
