import { type Random, randomOf } from '../support/random.js';

/** A planned fault. `at` counts milliseconds from the beginning of the run. */
export interface PlannedFault {
  readonly kind: FaultKind;
  readonly at: number;
  readonly forMs: number;
  /** The pod of a fault that concerns one pod, or its connections to Redis. */
  readonly pod?: number;
  /** A further random number of the fault. Its kind gives the meaning: milliseconds or a count. */
  readonly amount: number;
}

/** Random, overlapping faults, and then a calm in which the system can recover. */
export interface Storm {
  readonly faults: readonly PlannedFault[];
  /** The end of the calm. */
  readonly calmUntil: number;
}

interface Kind {
  /** The part of the system that a fault needs. Two faults that need the same part do not overlap. */
  readonly needs: 'redis' | 'network' | 'lookup' | 'pod' | 'clients' | 'clock';
  /** The shortest and the longest duration in milliseconds. */
  readonly lasts: readonly [number, number];
  readonly amount?: readonly [number, number];
}

export const KINDS = {
  // Redis
  'redis stopped': { needs: 'redis', lasts: [300, 4000] },
  'redis killed': { needs: 'redis', lasts: [100, 2500] },
  'keys flushed': { needs: 'redis', lasts: [1, 1] },
  'scripts flushed': { needs: 'redis', lasts: [500, 2000], amount: [20, 200] },
  'clients killed': { needs: 'redis', lasts: [500, 2500], amount: [20, 200] },
  'redis asleep': { needs: 'redis', lasts: [300, 2000] },
  'redis full': { needs: 'redis', lasts: [500, 3000] },
  'redis without replicas': { needs: 'redis', lasts: [500, 3000] },
  'redis demoted': { needs: 'redis', lasts: [500, 3000] },
  'right withdrawn': { needs: 'redis', lasts: [500, 3000] },
  'password changed': { needs: 'redis', lasts: [500, 3000] },
  'clients paused': { needs: 'redis', lasts: [300, 2000] },
  'redis clock jumps': { needs: 'clock', lasts: [1, 1], amount: [60_000, 3_600_000] },
  // the network of a pod
  'latency below the deadline': { needs: 'network', lasts: [1000, 4000], amount: [3, 15] },
  'latency above the deadline': { needs: 'network', lasts: [500, 4000], amount: [150, 3000] },
  'black hole': { needs: 'network', lasts: [300, 3000] },
  'answers lost': { needs: 'network', lasts: [300, 3000] },
  'answer lost after execution': { needs: 'network', lasts: [300, 1500], amount: [1, 4] },
  'connections reset': { needs: 'network', lasts: [300, 2500] },
  'connections refused': { needs: 'network', lasts: [300, 2500] },
  'first answer late': { needs: 'network', lasts: [3000, 5000], amount: [200, 900] },
  'lookups hang': { needs: 'lookup', lasts: [1000, 4000] },
  // the process
  'process computes': { needs: 'pod', lasts: [30, 1000] },
  'process computes for seconds': { needs: 'pod', lasts: [1100, 3000] },
  'handlers compute': { needs: 'pod', lasts: [1500, 3000], amount: [30, 60] },
  'process stopped': { needs: 'pod', lasts: [100, 3000] },
  'process restarted': { needs: 'pod', lasts: [4000, 4000], amount: [1, 2] },
  'process killed': { needs: 'pod', lasts: [4000, 4000], amount: [1, 2] },
  'clock of the process jumps': { needs: 'pod', lasts: [1, 1], amount: [1000, 3_600_000] },
  // clients
  'burst over many connections': { needs: 'clients', lasts: [1, 1], amount: [100, 250] },
  'requests reset after sending': { needs: 'clients', lasts: [500, 2000], amount: [20, 60] },
  'requests half sent': { needs: 'clients', lasts: [1000, 4000], amount: [20, 60] },
} as const satisfies Readonly<Record<string, Kind>>;

export type FaultKind = keyof typeof KINDS;

export const PODS = 4;
/** The pods that faults restart. The others run all the time, so that a growing heap shows. */
const RESTARTED = [2, 3];

const FIRST_AT_MS = 3000;
const STORM_MS = [4000, 8000] as const;
const CALM_MS = [3500, 5000] as const;
const FAULTS = [4, 7] as const;
/** The gap between two faults of one part, because a fault may end a little later than planned. */
const GAP_MS = 500;

/** The plan depends on the seed and the length only. No kind of fault comes again before all kinds have come. */
export function planOf(seed: number, forMs: number): readonly Storm[] {
  const random = randomOf(seed);
  const storms: Storm[] = [];
  let pack: FaultKind[] = [];
  for (let at = FIRST_AT_MS; at + STORM_MS[0] + CALM_MS[1] < forMs;) {
    const until = Math.min(at + between(random, STORM_MS), forMs - CALM_MS[1]);
    const faults: PlannedFault[] = [];
    for (let i = between(random, FAULTS); i > 0; i--) {
      if (pack.length === 0) pack = shuffled(Object.keys(KINDS) as FaultKind[], random);
      const fault = draw(pack.pop()!, random, at, until);
      if (faults.every((other) => !collide(fault, other))) faults.push(fault);
      else pack.splice(random(pack.length + 1), 0, fault.kind);
    }
    const calmUntil = until + between(random, CALM_MS);
    storms.push({ faults: faults.toSorted((a, b) => a.at - b.at), calmUntil });
    at = calmUntil;
  }
  return storms;
}

function draw(kind: FaultKind, random: Random, from: number, to: number): PlannedFault {
  const { needs, lasts, amount = [0, 0] }: Kind = KINDS[kind];
  const anyPod = random(PODS);
  const restarted = RESTARTED[random(RESTARTED.length)]!;
  const pod = kind === 'process restarted' || kind === 'process killed' ? restarted : anyPod;
  const ofPod = needs === 'network' || needs === 'lookup' || needs === 'pod' || needs === 'clients';
  const forMs = Math.min(between(random, lasts), to - from);
  const fault = { kind, at: from + random(to - from - forMs + 1), forMs, amount: between(random, amount) };
  return ofPod ? { ...fault, pod } : fault;
}

/** Whether two faults need the same part of the system at the same time. */
function collide(a: PlannedFault, b: PlannedFault): boolean {
  if (a.at > b.at + b.forMs + GAP_MS || b.at > a.at + a.forMs + GAP_MS) return false;
  const [one, other] = [needOf(a), needOf(b)];
  return one.some((need) => other.includes(need));
}

/** The part of the system that a fault occupies while it lasts. */
export function needOf({ kind, pod }: PlannedFault): string[] {
  const { needs } = KINDS[kind];
  // The library reconnects after both faults, so only one of them may act on a connection at a time.
  if (needs === 'lookup') return [`lookup ${pod}`, `network ${pod}`];
  // Redis measures the pause with the clock that a jump sets.
  if (kind === 'clients paused') return ['redis', 'clock'];
  // A new process starts with fair lookups.
  if (kind === 'process restarted' || kind === 'process killed') return [`pod ${pod}`, `lookup ${pod}`];
  return [pod === undefined ? needs : `${needs} ${pod}`];
}

function between(random: Random, [from, to]: readonly [number, number]): number {
  return from + random(to - from + 1);
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const rest = [...items];
  return items.map(() => rest.splice(random(rest.length), 1)[0]!);
}
