import { TITLES } from './promises/titles.js';
import type { Results, Verdict } from './trial.js';

/** A table of Markdown: a row for each promise, a column for each limiter. */
export function tableOf({ limiters, date, node }: Results): string {
  const names = limiters[0]!.verdicts.map(({ promise }) => promise);
  const rows = names.map((promise, i) => [TITLES[promise], ...limiters.map(({ verdicts }) => cellOf(verdicts[i]!))]);
  const versions = limiters.flatMap(({ versions: all }) => Object.entries(all).map(([name, one]) => `${name} ${one}`));
  const about = `${date}, Node ${node}, ${[...new Set(versions)].join(', ')}.`;
  const notes = limiters.map(({ name, definition, note = '' }) => `- ${name}: a ${definition}. ${note}`.trimEnd());
  return `${render(['', ...limiters.map(({ name }) => name)], rows)}\n${about}\n\n${notes.join('\n')}\n`;
}

/** The histories behind the table. */
export function historiesOf({ limiters }: Results): string {
  return limiters
    .flatMap(({ name, verdicts }) =>
      verdicts.flatMap(({ promise, verdict, offered, why, history }) => {
        if (history === undefined) return [];
        const lines = history.map((line) => [
          `${line.at}`,
          `${line.took}`,
          line.process,
          line.client,
          `${line.cost}`,
          line.answer,
        ]);
        const said = offered === undefined ? 'Not offered.' : `Offered: ${offered}`;
        const table = render(['at (ms)', 'took (ms)', 'process', 'client', 'cost', 'answer'], lines);
        return [`### ${name}: ${TITLES[promise]}: ${verdict}\n\n${said}\nSeen: ${why}.\n\n${table}`];
      }),
    )
    .join('\n');
}

function cellOf({ verdict, seen }: Verdict): string {
  return seen === 'held' ? 'held, not promised' : verdict;
}

function render(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, i) => Math.max(3, ...[head, ...rows].map((row) => row[i]!.length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |\n`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('');
}
