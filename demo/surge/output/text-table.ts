/** A table of a surge, for the terminal and the report. */
export interface Table {
  readonly heading: string;
  readonly head: readonly string[];
  /** A row may be shorter than the head. The names of rows that belong to the row before begin with two spaces. */
  readonly rows: readonly (readonly string[])[];
}

/** Formats a table. The first column is left-aligned, the others are right-aligned. */
export function textTable({ head, rows }: Pick<Table, 'head' | 'rows'>): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const line = (row: readonly string[]): string =>
    widths
      .map((width, column) => (column === 0 ? (row[column] ?? '').padEnd(width) : (row[column] ?? '').padStart(width)))
      .join('  ')
      .trimEnd();
  return [line(head), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)].join('\n');
}

const GROUPED = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** Formats a number with at least three digits; a dash for undefined and NaN. */
export function figure(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '-';
  if (Math.abs(value) >= 99.95) return GROUPED.format(value);
  return String(Number(value.toPrecision(Math.abs(value) < 1 ? 2 : 3)));
}

/** Milliseconds as a person says them: `2.6 ms`, `125 ms`, `4.7 s`; a dash for NaN. */
export function duration(ms: number): string {
  if (Number.isNaN(ms)) return '-';
  return ms < 999.5 ? `${figure(ms)} ms` : `${figure(ms / 1000)} s`;
}

export function percent(share: number | undefined): string {
  if (share === undefined || Number.isNaN(share)) return '-';
  return `${(100 * share).toFixed(1)} %`;
}

/** The relative change in percent. */
export function change(before: number, after: number): string {
  const share = after / before - 1;
  if (!Number.isFinite(share)) return '-';
  return `${share > 0 ? '+' : ''}${percent(share)}`;
}
