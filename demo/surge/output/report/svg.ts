/** Makes a text safe in HTML and in a quoted attribute. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** Round values from 0 to the first one that is not below `highest`, at most six. */
export function ticksOf(highest: number): number[] {
  if (!(highest > 0)) return [0, 1];
  const rough = highest / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9))!;
  return Array.from({ length: Math.ceil(highest / step - 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

/** The path of a line with a gap for each null. A value alone is a dot. */
export function polyline(
  values: readonly (number | null)[],
  point: (value: number, index: number) => [x: number, y: number],
): string {
  return values
    .map((value, i) => {
      if (value === null) return '';
      const [x, y] = point(value, i).map((one) => one.toFixed(1));
      if ((values[i - 1] ?? null) !== null) return `L${x} ${y}`;
      return `M${x} ${y}${(values[i + 1] ?? null) === null ? 'h1' : ''}`;
    })
    .join('');
}
