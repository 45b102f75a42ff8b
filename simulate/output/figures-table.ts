import type { FaultFigures } from '../faults.js';
import type { Figures } from '../run.js';
import { STRATEGIES } from '../strategies/strategies.js';
import type { Paint } from './colours.js';
import { type Column, tableOf } from './table.js';

const COLUMNS: readonly Column<Figures>[] = [
  { title: 'strategy', text: ({ strategy }) => titleOf(strategy), left: true },
  { title: 'admitted', text: ({ admitted }) => whole(admitted) },
  { title: 'of ideal', text: ({ admitted, ideal }) => (admitted / ideal).toFixed(3) },
  { title: 'over', text: (row) => (isBroken(row) ? whole(Math.ceil(row.over)) : '-') },
  { title: 'calls/req', text: ({ callsPerRequest }) => callsPerRequest.toFixed(2) },
  { title: 'calls/s', text: ({ callsPerSecond }) => whole(Math.round(callsPerSecond)) },
  { title: 'hottest', text: ({ redisCpu }) => percent(redisCpu) },
  { title: 'p50 ms', text: ({ p50Ms }) => p50Ms.toFixed(2) },
  { title: 'p99 ms', text: ({ p99Ms }) => p99Ms.toFixed(2) },
];

/** What the columns mean. */
export const LEGEND = `admitted: requests that passed. of ideal: beside one exact Redis without latency, same arrivals.
over: requests beyond capacity + refill x t in the worst interval, summed over the keys (-: none).
hottest: CPU of the busiest Redis, in percent of a core. p50, p99: of the decision, without the
application's work. * exists in the simulation only.`;

/** The figures of all strategies in one scenario. */
export function figuresTable(figures: readonly Figures[], paint: Paint): string {
  return tableOf(COLUMNS, figures, (line, row) => (isBroken(row) ? paint('red', line) : line));
}

/** Whether more requests passed than a limit allows. */
export function isBroken({ over }: Pick<Figures, 'over'>): boolean {
  return over > 0;
}

/** The figures of a run in which something went wrong. */
export interface DisturbedFigures extends Figures, FaultFigures {
  readonly fault: string;
}

const FAULT_COLUMNS: readonly Column<DisturbedFigures>[] = [
  COLUMNS[0]!,
  { title: 'during', text: ({ admittedDuring }) => whole(admittedDuring) },
  { title: 'of ideal', text: ({ admittedDuring, idealDuring }) => (admittedDuring / idealDuring).toFixed(3) },
  { title: 'over', text: COLUMNS[3]!.text },
  { title: 'unanswered', text: ({ arrived, answered }) => whole(arrived - answered) },
  { title: 'by share', text: ({ decidedBy }) => percent(decidedBy['local'] ?? 0) },
  { title: 'p99 ms', text: COLUMNS[8]!.text },
];

/** What the columns of `faultTable` mean. */
export const FAULT_LEGEND = `during: admitted in the time of the fault. of ideal: beside one exact Redis that never fails.
over: as above, in the whole run. unanswered: requests that died with their pod. by share: decisions of
the whole run that a pod made with its share of the limit, onStoreFailure: 'local'.`;

/** What all strategies did in one scenario while something went wrong. */
export function faultTable(figures: readonly DisturbedFigures[], paint: Paint): string {
  return tableOf(FAULT_COLUMNS, figures, (line, row) => (isBroken(row) ? paint('red', line) : line));
}

/** A strategy in words. */
export function titleOf(name: string): string {
  const { title, simulatedOnly = false } = STRATEGIES.find((one) => one.name === name)!;
  return simulatedOnly ? `${title} *` : title;
}

export function percent(part: number): string {
  return `${(part * 100).toFixed(1)}%`;
}

export function whole(count: number): string {
  return count.toLocaleString('en-US');
}
