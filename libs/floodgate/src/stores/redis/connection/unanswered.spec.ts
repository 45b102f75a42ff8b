import { describe, expect, it } from '@jest/globals';
import { algorithmOf, SMALL_POLICIES } from '../../../testing/conformance/small-policies.js';
import type { Charge } from '../../charge.js';
import type { Lane } from '../batch/lane.js';
import { Unanswered } from './unanswered.js';

/** Keys in two slots. */
const [ONE, OTHER] = ['rl:{a1}', 'rl:{a2}'];
const charge = (key: string, shardKeys?: readonly string[]): Charge => ({
  key,
  algorithm: algorithmOf(SMALL_POLICIES['token-bucket']),
  cost: 1,
  shardKeys,
});

/** A call that the test settles. */
function open() {
  let resolve!: () => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<void>((...settle) => ([resolve, reject] = settle));
  return { resolve, reject, run: () => promise };
}

const laneOf = (node?: string): Lane => ({ node, decide: () => Promise.resolve([]) });

describe('the bound on what waits in a client of the application', () => {
  it('refuses requests at the bound, and no more once the client has settled a call, even with an error', async () => {
    const lane = laneOf();
    const unanswered = new Unanswered(() => lane, 3);
    const [first, second] = [open(), open()];
    const calls = [unanswered.call(lane, 2, first.run), unanswered.call(lane, 1, second.run)];
    expect(unanswered.check([charge(ONE)])).toMatchObject({
      message: 'Redis has not answered 3 requests yet',
      wasAsked: false,
      isLogged: false,
    });
    first.reject(new Error('gone'));
    await expect(calls[0]).rejects.toThrow('gone');
    expect(unanswered.check([charge(ONE)])).toBeUndefined();
    second.resolve();
    await calls[1];
    expect(unanswered.checkLane(lane)).toBeUndefined();
  });

  it('holds for each node of a Cluster', async () => {
    const [lane, other] = [laneOf('node-1:6379'), laneOf('node-2:6379')];
    const laneOfCharge = ({ key, shardKeys }: Charge) => (shardKeys ? undefined : key === ONE ? lane : other);
    const unanswered = new Unanswered(laneOfCharge, 1);
    const call = open();
    const answer = unanswered.call(lane, 1, call.run);
    expect(unanswered.check([charge(OTHER)])).toBeUndefined();
    expect(unanswered.check([charge(OTHER), charge(ONE)])?.message).toBe(
      'Redis node node-1:6379 has not answered 1 requests yet',
    );
    expect(unanswered.checkLane(other)).toBeUndefined();
    // Another shard may be on another node.
    expect(unanswered.check([charge(ONE, [ONE, OTHER])])).toBeUndefined();
    call.resolve();
    await answer;
    expect(unanswered.check([charge(ONE)])).toBeUndefined();
  });
});
