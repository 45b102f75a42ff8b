/** Formats a table. The first column is left-aligned, the others are right-aligned. */
export function textTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
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
