/** Milliseconds of a clock that never steps and that all processes of a machine share. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1_000_000;
}

/**
 * How far the wall clock is ahead of `now()`, in milliseconds. `performance.timeOrigin` is wrong by the time that a process waits
 * for a processor while it starts. The wall clock has whole milliseconds, so this reads the two clocks where one begins.
 */
export function wallAheadMs(): number {
  let [ahead, narrowest] = [0, Infinity];
  for (let edges = 0; edges < EDGES;) {
    const [before, wall] = [now(), Date.now()];
    const [next, after] = [Date.now(), now()];
    if (next === wall) continue;
    edges++;
    if (after - before < narrowest) [ahead, narrowest] = [next - (before + after) / 2, after - before];
  }
  return ahead;
}

/** The number of millisecond edges that are measured. */
const EDGES = 20;

/** The time between two instants of `now()`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** How much of `span` the spans of a list cover. The list is sorted, and its spans do not overlap. */
export function overlap(sorted: readonly Span[], { from, to }: Span): number {
  let low = 0;
  for (let high = sorted.length; low < high;) {
    const middle = (low + high) >> 1;
    if (sorted[middle]!.to <= from) low = middle + 1;
    else high = middle;
  }
  let sum = 0;
  for (let i = low; i < sorted.length && sorted[i]!.from < to; i++) {
    sum += Math.min(to, sorted[i]!.to) - Math.max(from, sorted[i]!.from);
  }
  return sum;
}

/** The parts of the spans outside the holes. Both are sorted and do not overlap. */
export function without(spans: readonly Span[], holes: readonly Span[]): Span[] {
  const rest: Span[] = [];
  let first = 0;
  for (const { from, to } of spans) {
    let begin = from;
    while (first < holes.length && holes[first]!.to <= from) first++;
    for (let i = first; i < holes.length && holes[i]!.from < to; i++) {
      if (holes[i]!.from > begin) rest.push({ from: begin, to: holes[i]!.from });
      begin = Math.max(begin, holes[i]!.to);
    }
    if (begin < to) rest.push({ from: begin, to });
  }
  return rest;
}

/** Sorts spans and joins those that overlap. */
export function union(spans: readonly Span[]): Span[] {
  const sorted: { from: number; to: number }[] = [];
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    const last = sorted.at(-1);
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else sorted.push({ from, to });
  }
  return sorted;
}

/** Records when the event loop of this process stalled: busy, stopped, or without a processor. */
export class StallMeter {
  private readonly timer: NodeJS.Timeout;

  /** @param found called with each stall, as soon as it is over */
  constructor(found: (stall: Span) => void) {
    let last = now();
    this.timer = setInterval(() => {
      const at = now();
      // The rest is the timer's own delay.
      if (at - last > STALL_MS) found({ from: last, to: at });
      last = at;
    }, TICK_MS).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }
}

const TICK_MS = 10;
/** Shorter ones are in the slack. */
const STALL_MS = 25;
