import { MINUTE, pass, reject, repeat, SECOND, type Tables } from '../instants.js';

const threeAtOnce = { algorithm: 'concurrency', limit: 3, lease: '30s' } as const;
const LEASE = 30 * SECOND;

/** The instants of leases that are neither released nor renewed. */
export const CONCURRENCY: Tables = {
  'admits its limit at once, and the next request when the oldest lease ends': {
    policy: threeAtOnce,
    steps: [
      ...repeat(3, (i) => [i * SECOND, 1, pass(2 - i, LEASE)]),
      [2 * SECOND, 1, reject(0, LEASE, LEASE - 2 * SECOND)],
      [LEASE - 1, 1, reject(0, 2 * SECOND + 1, 1)],
      [LEASE, 1, pass(0, LEASE)],
      [LEASE, 1, reject(0, LEASE, SECOND)],
      [LEASE + SECOND, 1, pass(0, LEASE)],
    ],
  },
  'takes a lease for each unit of cost': {
    policy: threeAtOnce,
    steps: [
      [0, 4, reject(3, 0, Infinity)],
      [0, 2, pass(1, LEASE)],
      [SECOND, 2, reject(1, LEASE - SECOND, LEASE - SECOND)],
      [SECOND, 1, pass(0, LEASE)],
      [LEASE - 1, 2, reject(0, SECOND + 1, 1)],
      [LEASE, 2, pass(0, LEASE)],
    ],
  },
  'answers cost 0 as it would cost 1, and takes no lease': {
    policy: threeAtOnce,
    steps: [
      [0, 0, pass(3, 0)],
      [0, 3, pass(0, LEASE)],
      [SECOND, 0, reject(0, LEASE - SECOND, LEASE - SECOND)],
      [LEASE, 0, pass(3, 0)],
    ],
  },
  'holds more leases than fit one string': {
    policy: { algorithm: 'concurrency', limit: 300, lease: '1m' },
    steps: [
      [0, 100, pass(200, MINUTE)],
      [1, 100, pass(100, MINUTE)],
      [2, 100, pass(0, MINUTE)],
      [2, 1, reject(0, MINUTE, MINUTE - 2)],
      [MINUTE + 1, 201, reject(200, 1, 1)],
      [MINUTE + 1, 200, pass(0, MINUTE)],
    ],
  },
  'ends every lease one lease from now at the latest if the clock steps back': {
    policy: threeAtOnce,
    steps: [
      [MINUTE, 2, pass(1, LEASE)],
      [MINUTE - SECOND, 1, pass(0, LEASE)],
      [MINUTE - SECOND, 1, reject(0, LEASE, LEASE)],
      [MINUTE - SECOND + LEASE, 3, pass(0, LEASE)],
    ],
  },
  'keeps leases where they are if the clock steps back within the skew': {
    policy: threeAtOnce,
    maxSkewMs: 1_000,
    steps: [
      [MINUTE, 2, pass(1, LEASE)],
      [MINUTE - SECOND, 1, pass(0, LEASE + SECOND)],
      [MINUTE - SECOND, 1, reject(0, LEASE + SECOND, LEASE + SECOND)],
      [MINUTE + LEASE, 3, pass(0, LEASE)],
    ],
  },
};
