import { cpus } from 'node:os';
import { machineBusyMs } from '../../processes/machine-meter.js';
import { rankOf, rounded } from './recent-answers.js';
import type { Busyness } from './surge-tick.js';

/** Long enough that a single garbage collection does not matter. */
const WINDOW_MS = 2000;

/**
 * Riders' requests that are so late are another crowd than the seeded one, and times of answers are wrong by about as much. On a
 * machine that carries the run p99 is 2 to 25 ms. Where a world with limits had a p99 above 0.5 s, it was 140 ms and more.
 */
const MAX_LATE_MS = 100;

/** What is too late where other processes use more than that, in cores, and leave less idle than that. */
const CROWDED_LATE_MS = 40;
const MAX_OTHERS_CPU = 0.6;
const MIN_IDLE_CPU = 0.1;

/** CPU times in milliseconds since any instant. */
export interface CpuTimes {
  readonly atMs: number;
  /** Of all processes of the machine. */
  readonly machineMs: number;
  /** Of the processes of the run. */
  readonly ownMs: number;
}

/**
 * Null while the machine carries the run.
 *
 * @param worldsLateP99Ms how late the timers of the worlds fire
 */
export function busynessOf(
  from: CpuTimes,
  to: CpuTimes,
  cores: number,
  lateP99Ms: number,
  worldsLateP99Ms: number,
): Busyness | null {
  const wallMs = to.atMs - from.atMs;
  if (wallMs <= 0) return null;
  const busyCpu = (to.machineMs - from.machineMs) / wallMs;
  const ownCpu = (to.ownMs - from.ownMs) / wallMs;
  const othersCpu = Math.max(0, busyCpu - ownCpu);
  const idleCpu = Math.max(0, cores - busyCpu);
  // Full cores alone prove nothing: a browser or a build of low priority may use what the run leaves.
  const isCrowded = idleCpu < MIN_IDLE_CPU && othersCpu > MAX_OTHERS_CPU;
  const isLate = Math.max(lateP99Ms, worldsLateP99Ms) > (isCrowded ? CROWDED_LATE_MS : MAX_LATE_MS);
  if (!isLate) return null;
  return { othersCpu: rounded(othersCpu, 2), idleCpu: rounded(idleCpu, 2), lateP99Ms: rounded(lateP99Ms, 1) };
}

/** Measures whether this machine carries the run. The stage's Redis is one of the other processes: it uses a few percent of a core. */
export class BusynessMeter {
  private readonly cores = cpus().length;
  private times: CpuTimes[] = [];
  private lates: { readonly atMs: number; readonly lateMs: number }[] = [];
  private readonly worldsLate: { readonly atMs: number; readonly lateMs: number }[] = [];

  /** Notes how late a request was sent. */
  sent(atMs: number, lateMs: number): void {
    this.lates.push({ atMs, lateMs });
  }

  /** @param worldsCpuMs CPU time of the worlds since their start */
  look(atMs: number, worldsCpuMs: number, worldsLateP99Ms: number): Busyness | null {
    const { user, system } = process.cpuUsage();
    this.times.push({ atMs, machineMs: machineBusyMs(), ownMs: (user + system) / 1000 + worldsCpuMs });
    this.worldsLate.push({ atMs, lateMs: worldsLateP99Ms });
    const isRecent = (one: { readonly atMs: number }): boolean => one.atMs > atMs - WINDOW_MS;
    this.lates = this.lates.filter(isRecent);
    // The last one before the window stays, so that the window is whole.
    while (this.times.length > 1 && !isRecent(this.times[1]!)) this.times.shift();
    while (!isRecent(this.worldsLate[0]!)) this.worldsLate.shift();
    const first = this.times[0]!;
    // A shorter window judges by too little.
    if (atMs - first.atMs < WINDOW_MS / 2) return null;
    const late = rankOf(Float64Array.from(this.lates, ({ lateMs }) => lateMs).toSorted(), 0.99) ?? 0;
    const worldsLate = rankOf(Float64Array.from(this.worldsLate, ({ lateMs }) => lateMs).toSorted(), 0.5) ?? 0;
    return busynessOf(first, this.times.at(-1)!, this.cores, late, worldsLate);
  }
}
