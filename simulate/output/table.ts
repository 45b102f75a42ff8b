/** A column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly text: (row: Row) => string;
  /** Default right: numbers. */
  readonly left?: boolean;
}

/**
 * The rows as lines of text, below a line of titles.
 *
 * @param paint colours the line of a row; default none
 */
export function tableOf<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  paint: (line: string, row: Row) => string = (line) => line,
): string {
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => columns.map(({ text }) => text(row)))];
  const widths = columns.map((_, i) => Math.max(...cells.map((line) => line[i]!.length)));
  const lines = cells.map((line) =>
    line
      .map((cell, i) => (columns[i]!.left === true ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      .join('  ')
      .trimEnd(),
  );
  const painted = rows.map((row, i) => paint(lines[i + 1]!, row));
  return [lines[0], '-'.repeat(sum(widths) + 2 * (widths.length - 1)), ...painted].join('\n');
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => one + other, 0);
}
