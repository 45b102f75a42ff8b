import { Lane, type Mark as Decision } from '../playground/model/lane.js';
import { algorithmOf, DEFAULTS } from '../playground/model/settings.js';
import { Timeline } from '../playground/model/timeline.js';
import { burst, type TrafficEvent } from '../playground/model/traffic.js';
import { type Figure, type Kind, type Mark, type Row, seconds } from './scene.js';

const MICROSECONDS = 1_000_000;

/** What the playground's row of an algorithm made of the requests, with instants in seconds. */
function decided(timeline: Timeline, algorithm: string): { at: (us: number) => number; lane: Lane } {
  const { lane } = timeline.rows.find(({ policy }) => policy.algorithm === algorithm)!;
  return { lane, at: (us) => (us - timeline.origin) / MICROSECONDS };
}

/** Where a request lies that is over in the instant in which it comes. */
function markAt(at: number, y: number, kind: Mark['kind'], x = at): Mark {
  return { at, until: at, x, y, kind };
}

const PASSED = [
  ['served', 'passed'],
  ['refused', 'refused'],
] as const satisfies Row['legend'];

/** How many of a number, such as an instant, have come before: 0, 1, 2 and so on. */
function counter(): (of: number) => number {
  const counts = new Map<number, number>();
  return (of) => {
    const count = counts.get(of) ?? 0;
    counts.set(of, count + 1);
    return count;
  };
}

const PAGE = 6;
const PAGES = [2, 5] as const;
const PROGRAM = { from: 8, count: 25, perSecond: 5 };
const BURSTS_END = 13;
/** Two pages open, and a program follows. */
const CLICKS: readonly TrafficEvent[] = [
  ...PAGES.flatMap((at) => burst(1_000 * at, PAGE)),
  ...Array.from({ length: PROGRAM.count }, (_, i) => ({
    at: 1_000 * PROGRAM.from + (i * 1_000) / PROGRAM.perSecond,
    kind: 'once' as const,
  })),
];

export const BURST: Figure = {
  title: 'A token bucket',
  controls: [
    {
      name: 'capacity',
      label: 'Capacity',
      min: 1,
      max: 10,
      step: 1,
      value: 6,
      shown: (value) => `${value} tokens`,
    },
    { name: 'refill', label: 'Refill', min: 1, max: 5, step: 1, value: 1, shown: (value) => `${value} a second` },
  ],
  sceneOf({ capacity = 0, refill = 0 }) {
    const timeline = new Timeline({ ...DEFAULTS, capacity, refill }, CLICKS);
    timeline.advance(1_000 * BURSTS_END);
    const { lane, at } = decided(timeline, 'token-bucket');
    const refusedAt = counter();
    const marks = lane.marks.map((one) =>
      // A request takes the topmost token. Below the floor there is none.
      one.allowed
        ? markAt(at(one.at), one.remaining + 0.5, 'served')
        : markAt(at(one.at), -refusedAt(one.at) - 0.75, 'refused'),
    );
    const passed = (from: number, to: number): number =>
      marks.filter((mark) => mark.kind === 'served' && mark.at >= from && mark.at < to).length;
    const program = passed(PROGRAM.from, Infinity);
    const rest = program === PROGRAM.count ? '' : `: what is left in the bucket, and then at most ${refill} a second`;
    return {
      end: BURSTS_END,
      rows: [
        {
          width: BURSTS_END,
          bottom: -6,
          top: 11,
          marks,
          level: lane.samples.map((sample) => [at(sample.at), (1 - sample.used) * capacity]),
          lines: [
            { y: capacity, text: `full: ${capacity}` },
            ...PAGES.map((x) => ({ x, text: 'a page' })),
            { x: PROGRAM.from, text: 'a program' },
          ],
          axis: ['0 s', seconds(BURSTS_END)],
          legend: PASSED,
        },
      ],
      says: `The first page gets ${passed(PAGES[0], PAGES[1])} of its ${PAGE} requests, the next one ${passed(PAGES[1], PROGRAM.from)} of ${PAGE}, and the program ${program} of ${PROGRAM.count}${rest}.`,
    };
  },
};

export const LIMIT_OF_TEN = 10;
const WINDOW = 10;
const EDGE_END = 2 * WINDOW;
export const APART = 2;

export const EDGE: Figure = {
  title: 'The edge of a window',
  controls: [
    {
      name: 'first',
      label: 'The first ten come at',
      min: 0,
      max: EDGE_END - APART - 1,
      step: 0.5,
      value: 9,
      shown: seconds,
    },
  ],
  sceneOf({ first = 0 }) {
    const events = [first, first + APART].flatMap((at) => burst(1_000 * at, LIMIT_OF_TEN));
    const timeline = new Timeline({ ...DEFAULTS, limit: LIMIT_OF_TEN, windowMs: 1_000 * WINDOW }, events);
    timeline.advance(1_000 * EDGE_END);
    const rows = (
      [
        ['Fixed window', 'fixed-window', [{ x: WINDOW, text: 'counts from 0 again' }]],
        ['Sliding window', 'sliding-window-log', []],
      ] as const
    ).map(([title, algorithm, edges]): Row => {
      const { lane, at } = decided(timeline, algorithm);
      const refusedAt = counter();
      const heightOf = ({ at: instant, allowed, remaining }: Decision): number =>
        allowed ? LIMIT_OF_TEN - remaining - 0.5 : LIMIT_OF_TEN + refusedAt(instant) + 0.75;
      return {
        title,
        width: EDGE_END,
        bottom: 0,
        top: 2 * LIMIT_OF_TEN + 1,
        marks: lane.marks.map((one) => markAt(at(one.at), heightOf(one), one.allowed ? 'served' : 'refused')),
        level: lane.samples.map((sample) => [at(sample.at), sample.used * LIMIT_OF_TEN]),
        lines: [{ y: LIMIT_OF_TEN, text: `limit ${LIMIT_OF_TEN}` }, ...edges],
        axis: ['0 s', seconds(WINDOW), seconds(EDGE_END)],
        legend: PASSED,
      };
    });
    const [fixed = 0, sliding = 0] = rows.map((row) => row.marks.filter(({ kind }) => kind === 'served').length);
    const sent = `${LIMIT_OF_TEN} requests at ${seconds(first)} and ${LIMIT_OF_TEN} at ${seconds(first + APART)}`;
    return {
      end: EDGE_END,
      rows,
      says:
        fixed > sliding
          ? `${sent}: a new window begins at ${seconds(WINDOW)}, so the fixed window lets ${fixed} pass within ${seconds(APART)}. The sliding window lets ${sliding} pass.`
          : `${sent}: both fall into the same window, and either way of counting lets ${fixed} pass.`,
    };
  },
};

const PER_POD = 12;
/** The requests of a pod lie side by side. */
const BESIDE = 3;
/** Names of more pods are numbers: they have to fit on a phone. */
const WORDY = 5;
/** All requests of the pods come within it, in seconds. */
const PODS_END = 4;

function podLane(limit: number): Lane {
  return new Lane(algorithmOf({ algorithm: 'fixed-window', limit, window: '1m' }), 0, DEFAULTS);
}

export const PODS: Figure = {
  title: 'Many pods',
  controls: [{ name: 'pods', label: 'Pods', min: 1, max: 12, step: 1, value: 4, shown: String }],
  sceneOf({ pods = 0 }) {
    const sent = pods * PER_POD;
    const shared = podLane(LIMIT_OF_TEN);
    const own = Array.from({ length: pods }, () => podLane(LIMIT_OF_TEN));
    /** Pods get requests by turns. */
    const marksOf = (laneOf: (pod: number) => Lane): readonly Mark[] => {
      let passed = 0;
      return Array.from({ length: sent }, (_, i) => {
        const pod = i % pods;
        const at = (i * PODS_END) / sent;
        const isAllowed = ask(laneOf(pod), at);
        if (isAllowed) passed++;
        const kind = !isAllowed ? 'refused' : passed <= LIMIT_OF_TEN ? 'served' : 'failed';
        const nth = Math.floor(i / pods);
        return markAt(at, Math.floor(nth / BESIDE) + 0.75, kind, pod + ((nth % BESIDE) + 1) / (BESIDE + 1));
      });
    };
    const row = (title: string, marks: readonly Mark[], legend: Row['legend']): Row => ({
      title,
      isLow: true,
      width: pods,
      bottom: 0,
      top: PER_POD / BESIDE + 2,
      marks,
      lines: Array.from({ length: pods }, (_, x) => ({ x, text: pods > WORDY ? `${x + 1}` : `pod ${x + 1}` })),
      axis: [],
      legend,
    });
    const rows = [
      row(
        'Each pod counts for itself',
        marksOf((pod) => own[pod]!),
        [PASSED[0], ['failed', 'passed beyond the limit'], PASSED[1]],
      ),
      row(
        'One shared count',
        marksOf(() => shared),
        PASSED,
      ),
    ];
    const [each = 0, all = 0] = rows.map(({ marks }) => marks.filter(({ kind }) => kind !== 'refused').length);
    return {
      end: PODS_END,
      rows,
      says:
        pods === 1
          ? `With one pod both are the same: ${all} of ${sent} requests pass.`
          : `${pods} pods that count for themselves let ${each} of ${sent} requests pass, ${each / LIMIT_OF_TEN} times the limit. With one shared count ${all} pass.`,
    };
  },
};

/** Decides one more request, at a second. */
function ask(lane: Lane, second: number): boolean {
  const now = Math.round(second * MICROSECONDS);
  lane.advance(now);
  lane.meet('once', now);
  return lane.marks.at(-1)!.allowed;
}

export const OUTAGE_PODS = 3;
const OUTAGE = { from: 4, to: 7 };
const OUTAGE_BEGIN = 1;
const OUTAGE_END = 10;
const EACH_SECOND = 18;

export const OUTAGES: Figure = {
  title: 'The shared count is gone',
  controls: [
    {
      name: 'choice',
      label: 'Without the shared count',
      min: 0,
      max: 2,
      step: 1,
      value: 0,
      shown: String,
      options: ['Fail open', 'Fail closed', 'Local share'],
    },
  ],
  sceneOf({ choice = 0 }) {
    const whole = algorithmOf({ algorithm: 'fixed-window', limit: LIMIT_OF_TEN, window: '1s' });
    const shared = new Lane(whole, 0, DEFAULTS);
    const shares = Array.from({ length: OUTAGE_PODS }, () => new Lane(whole.shares.of(OUTAGE_PODS, 1), 0, DEFAULTS));
    const isAway = (at: number): boolean => at >= OUTAGE.from && at < OUTAGE.to;
    const stacked = counter();
    const marks = Array.from({ length: (OUTAGE_END - OUTAGE_BEGIN) * EACH_SECOND }, (_, i) => {
      const at = OUTAGE_BEGIN + i / EACH_SECOND;
      // What the whole would have said: everything else is wrong.
      const isRight = ask(shared, at);
      const isAllowed = isAway(at) ? choice === 0 || (choice === 2 && ask(shares[i % OUTAGE_PODS]!, at)) : isRight;
      const kind: Kind = isAllowed === isRight ? (isAllowed ? 'served' : 'refused') : 'failed';
      const second = Math.floor(at);
      return { isAllowed, mark: markAt(at, stacked(second) + 0.5, kind, second + 0.5) };
    });
    const away = marks.filter(({ mark }) => isAway(mark.at));
    const passed = away.filter(({ isAllowed }) => isAllowed).length;
    const lasts = seconds(OUTAGE.to - OUTAGE.from);
    const limit = LIMIT_OF_TEN * (OUTAGE.to - OUTAGE.from);
    return {
      end: OUTAGE_END,
      rows: [
        {
          width: OUTAGE_END,
          bottom: -0.5,
          top: EACH_SECOND + 2.5,
          marks: marks.map(({ mark }) => mark),
          lines: [{ y: LIMIT_OF_TEN, text: 'limit' }],
          outage: { ...OUTAGE, text: 'count away' },
          axis: ['0 s', seconds(OUTAGE_END / 2), seconds(OUTAGE_END)],
          legend: [
            PASSED[0],
            PASSED[1],
            ['failed', choice === 0 ? 'passed beyond the limit' : 'refused within the limit'],
          ],
        },
      ],
      says: [
        `Fail open: for ${lasts} everything passes, ${passed} requests where the limit is ${limit}.`,
        `Fail closed: for ${lasts} ${passed === 0 ? 'nothing' : passed} passes, not even the ${limit} requests that the limit allows.`,
        `Local share: each of ${OUTAGE_PODS} pods counts alone, up to its part of the limit, rounded down to ${shares[0]!.algorithm.limit} a second. ${passed} requests pass, where the limit is ${limit}.`,
      ][choice]!,
    };
  },
};
