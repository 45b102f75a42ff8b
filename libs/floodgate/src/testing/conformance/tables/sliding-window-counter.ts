import { MINUTE, pass, reject, repeat, SECOND, type Tables } from '../instants.js';

const tenASecond = { algorithm: 'sliding-window-counter', limit: 10, window: 1_000 } as const;
const threeASecond = { algorithm: 'sliding-window-counter', limit: 3, window: 1_000 } as const;
const DAY = 1_440 * MINUTE;

/** The instants of a sliding window counter. */
export const SLIDING_WINDOW_COUNTER: Tables = {
  'admits its limit, then the rest that the share of the previous window leaves': {
    policy: tenASecond,
    steps: [
      ...repeat(10, (i) => [0, 1, pass(9 - i, 2 * SECOND)]),
      [0, 1, reject(0, 2 * SECOND, 1_100_000)],
      [999_999, 1, reject(0, 1_000_001, 100_001)],
      [1_000_000, 1, reject(0, SECOND, 100_000)],
      [1_099_999, 1, reject(0, 900_001, 1)],
      [1_100_000, 1, pass(0, 1_900_000)],
      [1_100_000, 1, reject(0, 1_900_000, 100_000)],
      [1_500_000, 5, reject(4, 1_500_000, 100_000)],
      [1_500_000, 4, pass(0, 1_500_000)],
      [1_999_999, 5, reject(4, 1_000_001, 1)],
      [2_000_000, 5, pass(0, 2 * SECOND)],
    ],
  },
  'weighs the previous window by its share within a window of now, rounded up to whole requests': {
    policy: tenASecond,
    steps: [
      [0, 7, pass(3, 2 * SECOND)],
      [1_000_000, 0, pass(3, SECOND)],
      [1_142_857, 0, pass(3, 857_143)],
      [1_142_858, 0, pass(4, 857_142)],
      [1_500_000, 0, pass(6, 500_000)],
      [1_999_999, 0, pass(9, 1)],
      [2_000_000, 0, pass(10, 0)],
    ],
  },
  'admits 2 x limit - 1 in one window-long interval at worst': {
    policy: threeASecond,
    steps: [
      // 5 requests at a limit of 3 within 999,999 microseconds: the first 3 then weigh just under 2.
      ...repeat(3, (i) => [999_999, 1, pass(2 - i, SECOND + 1)]),
      [1_999_998, 2, pass(0, SECOND + 2)],
      [1_999_998, 1, reject(0, SECOND + 2, 2)],
      [1_999_999, 1, reject(0, SECOND + 1, 1)],
      [2_000_000, 1, pass(0, 2 * SECOND)],
    ],
  },
  'rejects most of the requests that a fixed window admits around its edge': {
    policy: tenASecond,
    steps: [
      [999_999, 10, pass(0, 1_000_001)],
      [1_000_000, 1, reject(0, SECOND, 100_000)],
      [1_000_000, 10, reject(0, SECOND, SECOND)],
      [1_999_999, 10, reject(9, 1, 1)],
      [2_000_000, 10, pass(0, 2 * SECOND)],
    ],
  },
  'gives a retryAfter in the next window to a cost that the current window has no room for': {
    policy: tenASecond,
    steps: [
      [200_000, 8, pass(2, 1_800_000)],
      [200_000, 3, reject(2, 1_800_000, 925_000)],
      [1_124_999, 3, reject(2, 875_001, 1)],
      [1_125_000, 3, pass(0, 1_875_000)],
    ],
  },
  'admits the whole limit at once, and never more': {
    policy: threeASecond,
    steps: [
      [0, 4, reject(3, 0, Infinity)],
      [0, 3, pass(0, 2 * SECOND)],
      [0, 3, reject(0, 2 * SECOND, 2 * SECOND)],
      [0, 4, reject(0, 2 * SECOND, Infinity)],
      [1_999_999, 3, reject(2, 1, 1)],
      [2_000_000, 3, pass(0, 2 * SECOND)],
    ],
  },
  'answers cost 0 as it would cost 1, and charges nothing': {
    policy: threeASecond,
    steps: [
      [0, 0, pass(3, 0)],
      [0, 3, pass(0, 2 * SECOND)],
      [500_000, 0, reject(0, 1_500_000, 833_334)],
      [1_333_333, 0, reject(0, 666_667, 1)],
      [1_333_334, 0, pass(1, 666_666)],
      [1_333_334, 1, pass(0, 1_666_666)],
    ],
  },
  'weighs exactly where limit x window is just below 2^52': {
    policy: { algorithm: 'sliding-window-counter', limit: 52_124, window: '1d' },
    steps: [
      [DAY - 1, 52_124, pass(0, DAY + 1)],
      [DAY, 1, reject(0, DAY, 1_657_586)],
      [DAY + 1_657_585, 1, reject(0, DAY - 1_657_585, 1)],
      [DAY + 1_657_586, 1, pass(0, 2 * DAY - 1_657_586)],
      [2 * DAY - 1, 52_123, reject(52_122, DAY + 1, 1)],
      [2 * DAY - 1, 52_122, pass(0, DAY + 1)],
    ],
  },
  'forgets a window that is two windows old, however far the clock leaps': {
    policy: threeASecond,
    steps: [
      [0, 3, pass(0, 2 * SECOND)],
      [2_000_000, 3, pass(0, 2 * SECOND)],
      [1_000 * DAY, 3, pass(0, 2 * SECOND)],
      [1_000 * DAY, 1, reject(0, 2 * SECOND, 1_333_334)],
    ],
  },
  'moves the counts into the current window if the clock steps back': {
    policy: tenASecond,
    steps: [
      [9_500_000, 4, pass(6, 1_500_000)],
      [10 * SECOND, 2, pass(4, 2 * SECOND)],
      [9_750_000, 0, pass(7, 1_250_000)],
      [9_750_000, 7, pass(0, 1_250_000)],
      [10 * SECOND, 1, pass(0, 2 * SECOND)],
    ],
  },
  'continues the later window if the clock steps back within the skew, and weighs its predecessor in full': {
    policy: tenASecond,
    maxSkewMs: 100,
    steps: [
      [9_500_000, 4, pass(6, 1_500_000)],
      [10 * SECOND, 2, pass(4, 2 * SECOND)],
      [9_900_000, 0, pass(4, 2_100_000)],
      [9_900_000, 5, reject(4, 2_100_000, 350_000)],
      [10_249_999, 5, reject(4, 1_750_001, 1)],
      [9_950_000, 4, pass(0, 2_050_000)],
      [10_249_999, 1, reject(0, 1_750_001, 1)],
      [10_250_000, 1, pass(0, 1_750_000)],
    ],
  },
};
