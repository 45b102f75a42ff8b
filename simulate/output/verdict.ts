import type { Figures } from '../run.js';
import type { Paint } from './colours.js';
import { isBroken, titleOf, whole } from './figures-table.js';
import { type Column, tableOf } from './table.js';

/** What a strategy did in all runs. */
interface Conclusion {
  readonly strategy: string;
  /** The run that broke the limit by most, if any did. */
  readonly worst: Figures | undefined;
  /** The smallest share of what one exact Redis admits. */
  readonly least: number;
}

const COLUMNS: readonly Column<Conclusion>[] = [
  { title: 'strategy', text: ({ strategy }) => titleOf(strategy), left: true },
  { title: 'of ideal, at least', text: ({ least }) => least.toFixed(3) },
  {
    title: 'limit',
    text: ({ worst }) =>
      worst === undefined ? 'kept' : `broken: ${whole(Math.ceil(worst.over))} too many ${placeOf(worst)}`,
    left: true,
  },
];

/** Which strategies kept every limit of all runs, and which broke one: a sentence, and a line for each strategy. */
export function verdictOf(figures: readonly Figures[], paint: Paint): string {
  const strategies = [...new Set(figures.map(({ strategy }) => strategy))];
  const conclusions = strategies.map((strategy) => {
    const runs = figures.filter((one) => one.strategy === strategy);
    const worst = runs.filter(isBroken).toSorted((one, other) => other.over - one.over)[0];
    return { strategy, worst, least: Math.min(...runs.map(({ admitted, ideal }) => admitted / ideal)) };
  });
  const broken = conclusions.filter(({ worst }) => worst !== undefined);
  const kept = conclusions.filter(({ worst }) => worst === undefined);
  const title =
    broken.length === 0
      ? paint('green', 'VERDICT: no strategy broke a limit')
      : paint('red', `VERDICT: ${broken.length} of ${strategies.length} strategies broke a limit`);
  const table = tableOf(COLUMNS, [...kept, ...broken], (line, { worst }) =>
    worst === undefined ? line : paint('red', line),
  );
  return `${title}\n\n${table}`;
}

function placeOf({ scenario, pods, regions }: Figures): string {
  return `(${scenario}, ${whole(pods)} pods, ${regions === 1 ? 'one region' : `${regions} regions`})`;
}
