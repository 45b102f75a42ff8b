import { identityTag } from '../../libs/floodgate/src/identity/identity-tag.js';
import type { Limit } from '../pods/engine.js';
import type { Random } from '../time/random.js';

/** What comes, and what limits it. */
export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly limit: Limit;
  /** Seconds in which requests arrive. */
  readonly seconds: number;
  /** Requests a second that arrive `second` seconds after the first. */
  readonly rateAt: (second: number) => number;
  /** The highest of these rates. */
  readonly peak: number;
  /** The identity of the next request. */
  readonly identity: (random: Random) => string;
}

export const SCENARIO_NAMES = ['hot', 'users', 'concert', 'fleet'] as const;

export type ScenarioName = (typeof SCENARIO_NAMES)[number];

const USERS = 10_000;
const PEOPLE = 40_000;
const CONCERT_SECONDS = 90;
/** Half of the people come in the first 15 seconds. */
const CONCERT_DECAY = 15 / Math.LN2;

const SCENARIOS: Readonly<Record<ScenarioName, (pods: number) => Scenario>> = {
  hot: () => ({
    name: 'hot',
    title: 'One global key: limit 1,000/s; 500 and 2,500 requests/s arrive by turns, 2 s each',
    limit: { capacity: 1000, refill: 1000, global: true },
    seconds: 20,
    rateAt: (second) => (second % 4 < 2 ? 500 : 2500),
    peak: 2500,
    identity: everybody,
  }),
  users: () => ({
    name: 'users',
    title: '10,000 users by Zipf: each 10/s (burst 20), 10,000 requests/s arrive',
    limit: { capacity: 20, refill: 10, global: false },
    ...steady(10_000, 4),
    identity: zipf(USERS),
  }),
  concert: () => ({
    name: 'concert',
    title: 'The concert: 40,000 people in 90 s, half of them in the first 15 s; limit 170/s',
    limit: { capacity: 170, refill: 170, global: true },
    seconds: CONCERT_SECONDS,
    ...concert(),
    identity: everybody,
  }),
  fleet: (pods) => ({
    name: 'fleet',
    title: `One global key for a busy fleet: limit ${shown(100 * pods)}/s, ${shown(80 * pods)} requests/s arrive`,
    limit: { capacity: 200 * pods, refill: 100 * pods, global: true },
    ...steady(80 * pods, 3),
    identity: everybody,
  }),
};

export function scenarioOf(name: ScenarioName, pods: number): Scenario {
  return SCENARIOS[name](pods);
}

/** The next instant of an arrival, in seconds, by thinning a Poisson process of the highest rate. Source: Lewis and Shedler, 1979. */
export function nextArrival({ rateAt, peak }: Scenario, after: number, random: Random): number {
  let at = after;
  do at += random.exponential(1 / peak);
  while (random.next() * peak > rateAt(at));
  return at;
}

function steady(rate: number, seconds: number): Pick<Scenario, 'seconds' | 'rateAt' | 'peak'> {
  return { seconds, rateAt: () => rate, peak: rate };
}

function concert(): Pick<Scenario, 'rateAt' | 'peak'> {
  const peak = PEOPLE / (CONCERT_DECAY * (1 - Math.exp(-CONCERT_SECONDS / CONCERT_DECAY)));
  return { rateAt: (second) => peak * Math.exp(-second / CONCERT_DECAY), peak };
}

function everybody(): string {
  return identityTag({ kind: 'user', value: 'everybody' });
}

/** The n-th user comes 1/n times as often as the first. */
function zipf(users: number): (random: Random) => string {
  const sums: number[] = [];
  const tags: string[] = [];
  for (let n = 1; n <= users; n++) {
    sums.push((sums.at(-1) ?? 0) + 1 / n);
    tags.push(identityTag({ kind: 'user', value: `user-${n}` }));
  }
  return (random) => {
    const wanted = random.next() * sums.at(-1)!;
    let [low, high] = [0, users - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle]! > wanted) high = middle;
      else low = middle + 1;
    }
    return tags[low]!;
  };
}

function shown(count: number): string {
  return count.toLocaleString('en-US');
}
