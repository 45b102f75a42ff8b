import { conform, MINUTE, pass, refuse, repeat, SECOND } from './conformance.js';

const tenASecond = { algorithm: 'sliding-window-counter', limit: 10, window: 1_000 } as const;
const threeASecond = { algorithm: 'sliding-window-counter', limit: 3, window: 1_000 } as const;
const DAY = 1_440 * MINUTE;

conform('sliding window counter', {
  'lets its limit pass, then what the share of the previous window leaves': {
    policy: tenASecond,
    steps: [
      ...repeat(10, (i) => [0, 1, pass(9 - i, 2 * SECOND)]),
      [0, 1, refuse(0, 2 * SECOND, 1_100_000)],
      [999_999, 1, refuse(0, 1_000_001, 100_001)],
      [1_000_000, 1, refuse(0, SECOND, 100_000)],
      [1_099_999, 1, refuse(0, 900_001, 1)],
      [1_100_000, 1, pass(0, 1_900_000)],
      [1_100_000, 1, refuse(0, 1_900_000, 100_000)],
      [1_500_000, 5, refuse(4, 1_500_000, 100_000)],
      [1_500_000, 4, pass(0, 1_500_000)],
      [1_999_999, 5, refuse(4, 1_000_001, 1)],
      [2_000_000, 5, pass(0, 2 * SECOND)],
    ],
  },
  'weighs the previous window by its share that is in sight, rounded up to whole requests': {
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
  'lets 2 x limit - 1 pass in one window-long interval at worst': {
    policy: threeASecond,
    steps: [
      // 5 requests of limit 3 within 999,999 microseconds: the 3 weigh just under 2 by then.
      ...repeat(3, (i) => [999_999, 1, pass(2 - i, SECOND + 1)]),
      [1_999_998, 2, pass(0, SECOND + 2)],
      [1_999_998, 1, refuse(0, SECOND + 2, 2)],
      [1_999_999, 1, refuse(0, SECOND + 1, 1)],
      [2_000_000, 1, pass(0, 2 * SECOND)],
    ],
  },
  'refuses most of what a fixed window lets pass around its edge': {
    policy: tenASecond,
    steps: [
      [999_999, 10, pass(0, 1_000_001)],
      [1_000_000, 1, refuse(0, SECOND, 100_000)],
      [1_000_000, 10, refuse(0, SECOND, SECOND)],
      [1_999_999, 10, refuse(9, 1, 1)],
      [2_000_000, 10, pass(0, 2 * SECOND)],
    ],
  },
  'tells a cost that its own window has no room for to come in the next one': {
    policy: tenASecond,
    steps: [
      [200_000, 8, pass(2, 1_800_000)],
      [200_000, 3, refuse(2, 1_800_000, 925_000)],
      [1_124_999, 3, refuse(2, 875_001, 1)],
      [1_125_000, 3, pass(0, 1_875_000)],
    ],
  },
  'takes the whole limit at once, and never more': {
    policy: threeASecond,
    steps: [
      [0, 4, refuse(3, 0, Infinity)],
      [0, 3, pass(0, 2 * SECOND)],
      [0, 3, refuse(0, 2 * SECOND, 2 * SECOND)],
      [0, 4, refuse(0, 2 * SECOND, Infinity)],
      [1_999_999, 3, refuse(2, 1, 1)],
      [2_000_000, 3, pass(0, 2 * SECOND)],
    ],
  },
  'tells a cost of 0 what a cost of 1 would be told, and charges nothing': {
    policy: threeASecond,
    steps: [
      [0, 0, pass(3, 0)],
      [0, 3, pass(0, 2 * SECOND)],
      [500_000, 0, refuse(0, 1_500_000, 833_334)],
      [1_333_333, 0, refuse(0, 666_667, 1)],
      [1_333_334, 0, pass(1, 666_666)],
      [1_333_334, 1, pass(0, 1_666_666)],
    ],
  },
  'weighs exactly where limit x window is just below 2^52': {
    policy: { algorithm: 'sliding-window-counter', limit: 52_124, window: '1d' },
    steps: [
      [DAY - 1, 52_124, pass(0, DAY + 1)],
      [DAY, 1, refuse(0, DAY, 1_657_586)],
      [DAY + 1_657_585, 1, refuse(0, DAY - 1_657_585, 1)],
      [DAY + 1_657_586, 1, pass(0, 2 * DAY - 1_657_586)],
      [2 * DAY - 1, 52_123, refuse(52_122, DAY + 1, 1)],
      [2 * DAY - 1, 52_122, pass(0, DAY + 1)],
    ],
  },
  'forgets what lies two windows behind, however far the clock leaps': {
    policy: threeASecond,
    steps: [
      [0, 3, pass(0, 2 * SECOND)],
      [2_000_000, 3, pass(0, 2 * SECOND)],
      [1_000 * DAY, 3, pass(0, 2 * SECOND)],
      [1_000 * DAY, 1, refuse(0, 2 * SECOND, 1_333_334)],
    ],
  },
  'of a clock that steps back: the counts move into the window that is now': {
    policy: tenASecond,
    steps: [
      [9_500_000, 4, pass(6, 1_500_000)],
      [10 * SECOND, 2, pass(4, 2 * SECOND)],
      [9_750_000, 0, pass(7, 1_250_000)],
      [9_750_000, 7, pass(0, 1_250_000)],
      [10 * SECOND, 1, pass(0, 2 * SECOND)],
    ],
  },
  'of a clock that steps back within the skew: the window goes on, its predecessor weighs all it can': {
    policy: tenASecond,
    maxSkewMs: 100,
    steps: [
      [9_500_000, 4, pass(6, 1_500_000)],
      [10 * SECOND, 2, pass(4, 2 * SECOND)],
      [9_900_000, 0, pass(4, 2_100_000)],
      [9_900_000, 5, refuse(4, 2_100_000, 350_000)],
      [10_249_999, 5, refuse(4, 1_750_001, 1)],
      [9_950_000, 4, pass(0, 2_050_000)],
      [10_249_999, 1, refuse(0, 1_750_001, 1)],
      [10_250_000, 1, pass(0, 1_750_000)],
    ],
  },
});
