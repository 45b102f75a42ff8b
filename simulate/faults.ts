import type { Span } from './figures/record.js';
import type { Running } from './run.js';
import type { Settings } from './settings.js';

/** Something that goes wrong while requests arrive. */
export interface Fault {
  readonly name: string;
  readonly title: string;
  /** How many regions it makes sense for. */
  readonly regions: readonly number[];
  /** The time in which it lasts. */
  readonly span: Span;
  readonly begin: (running: Running) => void;
  readonly end: (running: Running) => void;
}

const SECOND = 1_000_000;
/** When it goes wrong: in the busy half of the hot scenario. */
const AT = 7 * SECOND;
/** One pod of so many dies. */
const DYING = 10;

export const FAULTS: readonly Fault[] = [
  {
    name: 'pods',
    title: 'one pod of ten is killed; the span is the second after it',
    regions: [1, 2],
    span: { from: AT, to: AT + SECOND },
    begin: ({ world: { pods } }) => {
      // Every eleventh, so that all regions lose some.
      for (const [i, pod] of pods.entries()) if (i % (DYING + 1) === 0 && pods.length > DYING) pod.loop.kill();
    },
    end: () => undefined,
  },
  {
    name: 'redis',
    title: 'the Redis of the home region is away for a second',
    regions: [1, 2],
    span: { from: AT, to: AT + SECOND },
    begin: ({ world }) => {
      for (const { server, region } of world.servers) if (region === 0) world.stopServer(server);
    },
    end: ({ world }) => {
      for (const { server } of world.servers) server.start();
    },
  },
  {
    name: 'link',
    title: 'the link between the regions loses everything for two seconds',
    regions: [2],
    span: { from: AT, to: AT + 2 * SECOND },
    begin: ({ world }) => forEachLink(world.settings, (from, to) => world.path(from, to).break()),
    end: ({ world }) => forEachLink(world.settings, (from, to) => world.path(from, to).mend()),
  },
];

/** What happened while something went wrong. */
export interface FaultFigures {
  /** Admissions in its time. */
  readonly admittedDuring: number;
  /** What one exact Redis that never fails would have admitted then. */
  readonly idealDuring: number;
}

/** Schedules a fault. Returns what reads its figures after the run. */
export function disturbWith(fault: Fault, running: Running): () => FaultFigures {
  const { scheduler } = running.world;
  scheduler.at(fault.span.from, () => fault.begin(running));
  scheduler.at(fault.span.to, () => fault.end(running));
  return () => ({
    admittedDuring: running.record.admittedIn(fault.span),
    idealDuring: running.record.idealIn(fault.span),
  });
}

function forEachLink({ regions }: Settings, act: (from: number, to: number) => void): void {
  for (let from = 0; from < regions; from++) {
    for (let to = 0; to < regions; to++) if (from !== to) act(from, to);
  }
}
