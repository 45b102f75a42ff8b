import { MINUTE, pass, reject, repeat, SECOND, type Tables } from '../instants.js';

const DAY = 1_440 * MINUTE;
const CENTURY = 36_525 * DAY;

const twentyAtTen = { algorithm: 'token-bucket', capacity: 20, refill: 10 } as const;
const twentyAtThree = { algorithm: 'token-bucket', capacity: 20, refill: 3 } as const;
const twoAtOne = { algorithm: 'token-bucket', capacity: 2, refill: 1 } as const;
const LARGEST = 1_000_000_000_000;

/** The instants of a token bucket. */
export const TOKEN_BUCKET: Tables = {
  'admits a burst of its capacity, then exactly its rate': {
    policy: twentyAtTen,
    steps: [
      ...repeat(20, (i) => [0, 1, pass(19 - i, (i + 1) * 100_000)]),
      [0, 1, reject(0, 2_000_000, 100_000)],
      [99_999, 1, reject(0, 1_900_001, 1)],
      [100_000, 1, pass(0, 2_000_000)],
      [100_001, 1, reject(0, 1_999_999, 99_999)],
      ...repeat(30, (i) => [(i + 2) * 100_000, 1, pass(0, 2_000_000)]),
    ],
  },
  'admits exactly 20 of 20 at 3 per second, whose period is not a whole number': {
    policy: twentyAtThree,
    steps: [
      ...repeat(20, (i) => [0, 1, pass(19 - i, Math.ceil(((i + 1) * 1_000_000) / 3))]),
      [0, 1, reject(0, 6_666_667, 333_334)],
      [333_333, 1, reject(0, 6_333_334, 1)],
      [333_334, 1, pass(0, 6_666_666)],
      [666_666, 1, reject(0, 6_333_334, 1)],
      [666_667, 1, pass(0, 6_666_667)],
      [999_999, 1, reject(0, 6_333_335, 1)],
      [1_000_000, 1, pass(0, 6_666_667)],
    ],
  },
  'is full again exactly at resetAfter': {
    policy: twentyAtThree,
    steps: [
      [0, 20, pass(0, 6_666_667)],
      [6_666_666, 0, pass(19, 1)],
      [6_666_667, 0, pass(20, 0)],
      [6_666_667, 20, pass(0, 6_666_667)],
    ],
  },
  'refills 1 per day': {
    policy: { algorithm: 'token-bucket', capacity: 1, refill: '1/d' },
    steps: [
      [0, 1, pass(0, DAY)],
      [1, 1, reject(0, DAY - 1, DAY - 1)],
      [DAY - 1, 1, reject(0, 1, 1)],
      [DAY, 1, pass(0, DAY)],
    ],
  },
  'refills 1,000,000 per second': {
    policy: { algorithm: 'token-bucket', capacity: 3, refill: 1_000_000 },
    steps: [
      [0, 3, pass(0, 3)],
      [0, 1, reject(0, 3, 1)],
      [1, 1, pass(0, 3)],
      [3, 3, reject(2, 1, 1)],
      [4, 3, pass(0, 3)],
    ],
  },
  'holds 1e12 tokens at 1e9 per second, to the token': {
    policy: { algorithm: 'token-bucket', capacity: LARGEST, refill: 1_000_000_000 },
    steps: [
      [0, LARGEST, pass(0, 1_000_000_000)],
      [0, 1, reject(0, 1_000_000_000, 1)],
      [1, 1_001, reject(1_000, 999_999_999, 1)],
      [1, 1_000, pass(0, 1_000_000_000)],
      [1, LARGEST, reject(0, 1_000_000_000, 1_000_000_000)],
      [500_000_001, 499_999_999_999, pass(1, 1_000_000_000)],
    ],
  },
  'refills 1 in just under 100 years': {
    policy: { algorithm: 'token-bucket', capacity: 1, refill: '1/36524d' },
    steps: [
      [0, 1, pass(0, CENTURY - DAY)],
      [CENTURY - DAY - 1, 1, reject(0, 1, 1)],
      [CENTURY - DAY, 1, pass(0, CENTURY - DAY)],
    ],
  },
  'admits the whole capacity at once, and never more': {
    policy: twentyAtTen,
    steps: [
      [0, 21, reject(20, 0, Infinity)],
      [0, 20, pass(0, 2_000_000)],
      [0, 21, reject(0, 2_000_000, Infinity)],
      [0, 20, reject(0, 2_000_000, 2_000_000)],
      [1_999_999, 20, reject(19, 1, 1)],
      [2_000_000, 20, pass(0, 2_000_000)],
    ],
  },
  'answers cost 0 as it would cost 1, and charges nothing': {
    policy: twoAtOne,
    steps: [
      [0, 0, pass(2, 0)],
      [0, 0, pass(2, 0)],
      [0, 2, pass(0, 2 * SECOND)],
      [0, 0, reject(0, 2 * SECOND, SECOND)],
      [SECOND - 1, 0, reject(0, SECOND + 1, 1)],
      [SECOND, 0, pass(1, SECOND)],
      [SECOND, 1, pass(0, 2 * SECOND)],
    ],
  },
  'does not count rejected requests': {
    policy: twoAtOne,
    steps: [
      [0, 2, pass(0, 2 * SECOND)],
      ...repeat(5, (i) => [i, 1, reject(0, 2 * SECOND - i, SECOND - i)]),
      [SECOND, 1, pass(0, 2 * SECOND)],
    ],
  },
  'never holds more than its capacity, however long no request comes': {
    policy: twoAtOne,
    steps: [
      [0, 1, pass(1, SECOND)],
      [1_000 * DAY, 3, reject(2, 0, Infinity)],
      [1_000 * DAY, 2, pass(0, 2 * SECOND)],
      [1_000 * DAY, 1, reject(0, 2 * SECOND, SECOND)],
    ],
  },
  'has a debt of its capacity at most if the clock steps back': {
    policy: twoAtOne,
    steps: [
      [10 * SECOND, 2, pass(0, 2 * SECOND)],
      [10 * SECOND - 1, 1, reject(0, 2 * SECOND, SECOND)],
      [11 * SECOND - 2, 1, reject(0, SECOND + 1, 1)],
      [11 * SECOND - 1, 1, pass(0, 2 * SECOND)],
    ],
  },
  'waits for the clock if it steps back within the skew, and no longer': {
    policy: twoAtOne,
    maxSkewMs: 1_000,
    steps: [
      [10 * SECOND, 2, pass(0, 2 * SECOND)],
      [9 * SECOND, 1, reject(0, 3 * SECOND, 2 * SECOND)],
      [11 * SECOND - 1, 1, reject(0, SECOND + 1, 1)],
      [11 * SECOND, 1, pass(0, 2 * SECOND)],
      [10 * SECOND, 1, reject(0, 3 * SECOND, 2 * SECOND)],
      [10 * SECOND - 1, 1, reject(0, 2 * SECOND, SECOND)],
      [11 * SECOND - 2, 1, reject(0, SECOND + 1, 1)],
      [11 * SECOND - 1, 1, pass(0, 2 * SECOND)],
    ],
  },
};
