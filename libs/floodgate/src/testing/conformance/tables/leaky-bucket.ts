import { MINUTE, pass, reject, repeat, SECOND, type Tables } from '../instants.js';

const threeAtTen = { algorithm: 'leaky-bucket', capacity: 3, drain: 10 } as const;
const threeAtThree = { algorithm: 'leaky-bucket', capacity: 3, drain: 3 } as const;
const LARGEST = 1_000_000_000_000;

/** The instants of a leaky bucket. */
export const LEAKY_BUCKET: Tables = {
  'lets the first request pass at once and the next ones wait for their slots, until all places are taken': {
    policy: threeAtTen,
    steps: [
      [0, 1, pass(3, 100_000, 0)],
      [0, 1, pass(2, 200_000, 100_000)],
      [0, 1, pass(1, 300_000, 200_000)],
      [0, 1, pass(0, 400_000, 300_000)],
      [0, 1, reject(0, 400_000, 100_000)],
    ],
  },
  'frees a place exactly when the next request departs': {
    policy: threeAtTen,
    steps: [
      ...repeat(4, (i) => [0, 1, pass(3 - i, (i + 1) * 100_000, i * 100_000)]),
      [99_999, 1, reject(0, 300_001, 1)],
      [100_000, 1, pass(0, 400_000, 300_000)],
      [100_001, 1, reject(0, 399_999, 99_999)],
      ...repeat(20, (i) => [(i + 2) * 100_000, 1, pass(0, 400_000, 300_000)]),
    ],
  },
  'does not delay a request that comes 1/drain after the last departure': {
    policy: threeAtTen,
    steps: [
      [0, 1, pass(3, 100_000, 0)],
      [99_999, 1, pass(2, 100_001, 1)],
      [200_000, 1, pass(3, 100_000, 0)],
      [400_000, 1, pass(3, 100_000, 0)],
    ],
  },
  'keeps slots of a third of a second without drift': {
    policy: threeAtThree,
    steps: [
      [0, 1, pass(3, 333_334, 0)],
      [0, 1, pass(2, 666_667, 333_334)],
      [0, 1, pass(1, 1_000_000, 666_667)],
      [0, 1, pass(0, 1_333_334, 1_000_000)],
      [0, 1, reject(0, 1_333_334, 333_334)],
      [333_333, 1, reject(0, 1_000_001, 1)],
      [333_334, 1, pass(0, 1_333_333, 1_000_000)],
      [1_000_000, 1, pass(1, 1_000_000, 666_667)],
    ],
  },
  'gives a request of cost n as many slots, and lets it depart at the first': {
    policy: threeAtTen,
    steps: [
      [0, 2, pass(2, 200_000, 0)],
      [0, 2, pass(0, 400_000, 200_000)],
      [0, 2, reject(0, 400_000, 200_000)],
      [100_000, 2, reject(1, 300_000, 100_000)],
      [199_999, 2, reject(1, 200_001, 1)],
      [200_000, 2, pass(0, 400_000, 200_000)],
    ],
  },
  'admits a cost of all places plus the departing one, and never more': {
    policy: threeAtTen,
    steps: [
      [0, 5, reject(3, 0, Infinity)],
      [0, 4, pass(0, 400_000, 0)],
      [0, 4, reject(0, 400_000, 400_000)],
      [0, 5, reject(0, 400_000, Infinity)],
      [399_999, 4, reject(3, 1, 1)],
      [400_000, 4, pass(0, 400_000, 0)],
    ],
  },
  'answers cost 0 as it would cost 1, including the delay, and charges nothing': {
    policy: threeAtTen,
    steps: [
      [0, 0, pass(3, 0, 0)],
      [0, 1, pass(3, 100_000, 0)],
      [0, 0, pass(3, 100_000, 100_000)],
      [0, 3, pass(0, 400_000, 100_000)],
      [0, 0, reject(0, 400_000, 100_000)],
      [100_000, 0, pass(1, 300_000, 300_000)],
      [100_000, 1, pass(0, 400_000, 300_000)],
    ],
  },
  'lets 1 per day depart': {
    policy: { algorithm: 'leaky-bucket', capacity: 1, drain: '1/d' },
    steps: [
      [0, 1, pass(1, 1_440 * MINUTE, 0)],
      [0, 1, pass(0, 2_880 * MINUTE, 1_440 * MINUTE)],
      [1_440 * MINUTE - 1, 1, reject(0, 1_440 * MINUTE + 1, 1)],
      [1_440 * MINUTE, 1, pass(0, 2_880 * MINUTE, 1_440 * MINUTE)],
    ],
  },
  'lets 1,000,000 per second depart, one in each microsecond': {
    policy: { algorithm: 'leaky-bucket', capacity: 2, drain: 1_000_000 },
    steps: [
      [0, 1, pass(2, 1, 0)],
      [0, 1, pass(1, 2, 1)],
      [0, 1, pass(0, 3, 2)],
      [0, 1, reject(0, 3, 1)],
      [1, 1, pass(0, 3, 2)],
      [3, 1, pass(1, 2, 1)],
    ],
  },
  'holds a queue of 1e12 at 1e9 per second, to the place': {
    policy: { algorithm: 'leaky-bucket', capacity: LARGEST, drain: 1_000_000_000 },
    steps: [
      [0, 1, pass(LARGEST, 1, 0)],
      [0, LARGEST, pass(0, 1_000_000_001, 1)],
      [0, 1, reject(0, 1_000_000_001, 1)],
      [1, 1_000, pass(0, 1_000_000_001, 1_000_000_000)],
      [1, 1_000, reject(0, 1_000_000_001, 1)],
    ],
  },
  'delays no request longer than all places take, even if the clock steps back': {
    policy: threeAtTen,
    steps: [
      [10 * SECOND, 4, pass(0, 400_000, 0)],
      [9 * SECOND, 0, reject(0, 400_000, 100_000)],
      [9 * SECOND + 100_000, 1, pass(0, 400_000, 300_000)],
    ],
  },
  'keeps every slot that was given if the clock steps back within the skew': {
    policy: threeAtTen,
    maxSkewMs: 100,
    steps: [
      [10 * SECOND, 2, pass(2, 200_000, 0)],
      [10 * SECOND - 50_000, 1, pass(0, 350_000, 250_000)],
      [10 * SECOND, 1, pass(0, 400_000, 300_000)],
      [10 * SECOND - 100_000, 1, reject(0, 500_000, 200_000)],
      [10 * SECOND - 100_001, 1, reject(0, 400_000, 100_000)],
    ],
  },
};
