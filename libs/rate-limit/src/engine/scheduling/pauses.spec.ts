import { expect, it } from '@jest/globals';
import type { PolicyCharge } from '../policy-charge.js';
import { Pauses } from './pauses.js';

const PAUSES = 20_000;

/** A charge of a policy that counts clients, as far as a pause reads it. */
function chargeOf(identity: string): PolicyCharge {
  const policy = { name: 'partner', boundTo: 'app', globalKey: undefined };
  return { key: `rl:{${identity}}:partner`, shadow: false, identity, policy } as unknown as PolicyCharge;
}

function setUp() {
  const clock = { ms: 0 };
  const looked = { times: 0 };
  const ended: string[] = [];
  const pauses = new Pauses(
    { pause: () => undefined, endPause: (key) => void ended.push(key) },
    { overrideOf: () => void looked.times++ },
    { set: () => Promise.reject(new Error('Redis is away')), get: async () => undefined },
    { nowMs: () => clock.ms },
    { warn: () => undefined },
  );
  const pause = (identity: string, ms: number): Promise<boolean> => {
    const charge = chargeOf(identity);
    return pauses.pause([{ charge, keys: [charge.key] }], ms, 'HTTP 429');
  };
  return { clock, looked, ended, pauses, pause };
}

it('a pause looks at its own override alone, however many others wait for Redis', async () => {
  const { looked, pause } = setUp();
  for (let i = 0; i < PAUSES; i++) await pause(`user:${i}`, 60_000);
  expect(looked.times).toBeLessThanOrEqual(2 * PAUSES);
});

it('a process remembers 10,000 pauses at most, and forgets those that have ended', async () => {
  const { clock, ended, pauses, pause } = setUp();
  for (let i = 0; i < PAUSES; i++) await pause(`user:${i}`, 60_000);
  const removed = (identity: string): void => pauses.changed({ policy: 'partner', identity, scope: 'app' });
  removed('user:0');
  expect(ended).toEqual([]);
  removed(`user:${PAUSES - 1}`);
  expect(ended).toEqual([`rl:{user:${PAUSES - 1}}:partner`]);
  clock.ms = 60_000;
  await pause('user:new', 1_000);
  removed(`user:${PAUSES - 2}`);
  expect(ended).toHaveLength(1);
  removed('user:new');
  expect(ended).toHaveLength(2);
});
