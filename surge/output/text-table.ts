/** Rows under a head, columns as wide as they need to be: the first one to the left, the others to the right. */
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

/** With three digits where there are fewer in front of the point; a dash for what there is none of. */
export function figure(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '-';
  if (Math.abs(value) >= 99.95) return GROUPED.format(value);
  return String(Number(value.toPrecision(Math.abs(value) < 1 ? 2 : 3)));
}

export function percent(share: number | undefined): string {
  if (share === undefined || Number.isNaN(share)) return '-';
  return `${(100 * share).toFixed(1)} %`;
}

/** How much something has changed. */
export function change(before: number, after: number): string {
  const share = after / before - 1;
  if (!Number.isFinite(share)) return '-';
  return `${share > 0 ? '+' : ''}${percent(share)}`;
}
