import { describe, expect, it } from '@jest/globals';
import { bindPolicy } from '../../policy/bound-policy.js';
import { parsePolicy } from '../../policy/parse-policy.js';
import { chargeOf, type PolicyCharge } from '../policy-charge.js';
import { QueueRoom } from './queue-room.js';

function charge(policy: object): PolicyCharge {
  const base = { algorithm: 'fixed-window', limit: 10, window: '1m', ...policy };
  return chargeOf(bindPolicy(parsePolicy(base, 'test'), 'fg:', 'app', 'test'), 'fg:', 'ip:a', 1, 'take');
}

const PARTNER = charge({ name: 'partner' });
const OTHER = charge({ name: 'other' });
const SHADOW = charge({ name: 'shadow', mode: 'shadow' });
const PRIORITIES = { first: 1, second: 0.5 };
const FIRST = charge({ name: 'shared', priorities: PRIORITIES });
const SECOND = charge({ name: 'shared', priorities: PRIORITIES, priority: 'second' });

/** How many calls get in, one after the other. */
function entered(room: QueueRoom, ...charges: PolicyCharge[]): number {
  let count = 0;
  for (; room.lackFor(charges) === undefined && count < 100; count++) room.enter(charges);
  return count;
}

describe('the room for waiting calls', () => {
  it('is that of each policy, whatever waits for another one', () => {
    const room = new QueueRoom(4);
    expect(entered(room, PARTNER)).toBe(4);
    expect(room.lackFor([PARTNER])!.message).toContain("4 calls wait for 'partner', which is maxQueuedCalls");
    expect(entered(room, OTHER)).toBe(4);
    for (let i = 0; i < 2; i++) room.leave([PARTNER]);
    expect(entered(room, PARTNER)).toBe(2);
  });

  it('has to be there for each policy of a call, without those in shadow', () => {
    const room = new QueueRoom(4);
    expect(entered(room, PARTNER, SHADOW)).toBe(4);
    expect(entered(room, OTHER, PARTNER)).toBe(0);
    expect(entered(room, OTHER, SHADOW)).toBe(4);
  });

  it('is left to the higher classes by the lower ones', () => {
    const room = new QueueRoom(4);
    expect(entered(room, SECOND)).toBe(2);
    expect(room.lackFor([SECOND])!.message).toContain(
      "2 calls wait for 'shared', which is the part of maxQueuedCalls that the class 'second' may fill",
    );
    expect(entered(room, FIRST)).toBe(2);
    expect(entered(new QueueRoom(1), SECOND)).toBe(1);
  });
});
