import { conform, MINUTE, pass, refuse, repeat, SECOND } from './conformance.js';

const threeAtTen = { algorithm: 'leaky-bucket', capacity: 3, drain: 10 } as const;
const threeAtThree = { algorithm: 'leaky-bucket', capacity: 3, drain: 3 } as const;
const LARGEST = 1_000_000_000_000;

conform('leaky bucket', {
  'lets the first go at once and the next wait for their slots, until its places are taken': {
    policy: threeAtTen,
    steps: [
      [0, 1, pass(3, 100_000, 0)],
      [0, 1, pass(2, 200_000, 100_000)],
      [0, 1, pass(1, 300_000, 200_000)],
      [0, 1, pass(0, 400_000, 300_000)],
      [0, 1, refuse(0, 400_000, 100_000)],
    ],
  },
  'has a place again exactly when the next one departs': {
    policy: threeAtTen,
    steps: [
      ...repeat(4, (i) => [0, 1, pass(3 - i, (i + 1) * 100_000, i * 100_000)]),
      [99_999, 1, refuse(0, 300_001, 1)],
      [100_000, 1, pass(0, 400_000, 300_000)],
      [100_001, 1, refuse(0, 399_999, 99_999)],
      ...repeat(20, (i) => [(i + 2) * 100_000, 1, pass(0, 400_000, 300_000)]),
    ],
  },
  'lets nobody wait who finds the last departure long enough ago': {
    policy: threeAtTen,
    steps: [
      [0, 1, pass(3, 100_000, 0)],
      [99_999, 1, pass(2, 100_001, 1)],
      [200_000, 1, pass(3, 100_000, 0)],
      [400_000, 1, pass(3, 100_000, 0)],
    ],
  },
  'keeps slots of a third of a second without a drift': {
    policy: threeAtThree,
    steps: [
      [0, 1, pass(3, 333_334, 0)],
      [0, 1, pass(2, 666_667, 333_334)],
      [0, 1, pass(1, 1_000_000, 666_667)],
      [0, 1, pass(0, 1_333_334, 1_000_000)],
      [0, 1, refuse(0, 1_333_334, 333_334)],
      [333_333, 1, refuse(0, 1_000_001, 1)],
      [333_334, 1, pass(0, 1_333_333, 1_000_000)],
      [1_000_000, 1, pass(1, 1_000_000, 666_667)],
    ],
  },
  'gives a cost of n as many slots, and the first of them to the request': {
    policy: threeAtTen,
    steps: [
      [0, 2, pass(2, 200_000, 0)],
      [0, 2, pass(0, 400_000, 200_000)],
      [0, 2, refuse(0, 400_000, 200_000)],
      [100_000, 2, refuse(1, 300_000, 100_000)],
      [199_999, 2, refuse(1, 200_001, 1)],
      [200_000, 2, pass(0, 400_000, 200_000)],
    ],
  },
  'takes a cost of all places and the one that departs, and never more': {
    policy: threeAtTen,
    steps: [
      [0, 5, refuse(3, 0, Infinity)],
      [0, 4, pass(0, 400_000, 0)],
      [0, 4, refuse(0, 400_000, 400_000)],
      [0, 5, refuse(0, 400_000, Infinity)],
      [399_999, 4, refuse(3, 1, 1)],
      [400_000, 4, pass(0, 400_000, 0)],
    ],
  },
  'tells a cost of 0 what a cost of 1 would be told, the delay too, and charges nothing': {
    policy: threeAtTen,
    steps: [
      [0, 0, pass(3, 0, 0)],
      [0, 1, pass(3, 100_000, 0)],
      [0, 0, pass(3, 100_000, 100_000)],
      [0, 3, pass(0, 400_000, 100_000)],
      [0, 0, refuse(0, 400_000, 100_000)],
      [100_000, 0, pass(1, 300_000, 300_000)],
      [100_000, 1, pass(0, 400_000, 300_000)],
    ],
  },
  'lets 1 per day depart': {
    policy: { algorithm: 'leaky-bucket', capacity: 1, drain: '1/d' },
    steps: [
      [0, 1, pass(1, 1_440 * MINUTE, 0)],
      [0, 1, pass(0, 2_880 * MINUTE, 1_440 * MINUTE)],
      [1_440 * MINUTE - 1, 1, refuse(0, 1_440 * MINUTE + 1, 1)],
      [1_440 * MINUTE, 1, pass(0, 2_880 * MINUTE, 1_440 * MINUTE)],
    ],
  },
  'lets 1,000,000 per second depart, one in each microsecond': {
    policy: { algorithm: 'leaky-bucket', capacity: 2, drain: 1_000_000 },
    steps: [
      [0, 1, pass(2, 1, 0)],
      [0, 1, pass(1, 2, 1)],
      [0, 1, pass(0, 3, 2)],
      [0, 1, refuse(0, 3, 1)],
      [1, 1, pass(0, 3, 2)],
      [3, 1, pass(1, 2, 1)],
    ],
  },
  'holds a queue of 1e12 at 1e9 per second, to the place': {
    policy: { algorithm: 'leaky-bucket', capacity: LARGEST, drain: 1_000_000_000 },
    steps: [
      [0, 1, pass(LARGEST, 1, 0)],
      [0, LARGEST, pass(0, 1_000_000_001, 1)],
      [0, 1, refuse(0, 1_000_000_001, 1)],
      [1, 1_000, pass(0, 1_000_000_001, 1_000_000_000)],
      [1, 1_000, refuse(0, 1_000_000_001, 1)],
    ],
  },
  'of a clock that steps back: never makes anybody wait longer than its places': {
    policy: threeAtTen,
    steps: [
      [10 * SECOND, 4, pass(0, 400_000, 0)],
      [9 * SECOND, 0, refuse(0, 400_000, 100_000)],
      [9 * SECOND + 100_000, 1, pass(0, 400_000, 300_000)],
    ],
  },
  'of a clock that steps back within the skew: keeps every slot that was given': {
    policy: threeAtTen,
    maxSkewMs: 100,
    steps: [
      [10 * SECOND, 2, pass(2, 200_000, 0)],
      [10 * SECOND - 50_000, 1, pass(0, 350_000, 250_000)],
      [10 * SECOND, 1, pass(0, 400_000, 300_000)],
      [10 * SECOND - 100_000, 1, refuse(0, 500_000, 200_000)],
      [10 * SECOND - 100_001, 1, refuse(0, 400_000, 100_000)],
    ],
  },
});
