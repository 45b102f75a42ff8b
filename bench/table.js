import { median, ratio } from './measure.js';

/** What stands in the place of a ratio to oneself. */
const ITSELF = '1';

const FIGURES = [
  { key: 'throughput', head: 'decisions/s', digits: 0 },
  { key: 'latency', head: 'latency us', digits: 1 },
  { key: 'node', head: 'Node us', digits: 2 },
  { key: 'redis', head: 'Redis us', digits: 2 },
  { key: 'commands', head: 'commands', digits: 3, counted: true },
];

/** Without Redis its figures are noise. */
export const IN_PROCESS = FIGURES.filter(({ key }) => key !== 'redis' && key !== 'commands');

/** Everything measured of decisions; each contestant's figures divided by the reference's are the ratios. */
export function decisionsTable(title, samples, reference, figures = FIGURES) {
  return comparison(title, samples, reference, figures);
}

const HTTP_FIGURES = [
  { key: 'throughput', head: 'requests/s', digits: 0 },
  { key: 'cpu', head: 'app CPU us', digits: 1 },
];

/** Where the reference asks Redis, too. */
export const HTTP_ON_REDIS = [...HTTP_FIGURES, { key: 'redis', head: 'Redis us', digits: 2 }];

export function httpTable(title, samples, reference, figures = HTTP_FIGURES) {
  return comparison(title, samples, reference, figures);
}

function comparison(title, samples, reference, figures) {
  const base = samples.get(reference);
  const used = figures.filter(({ key }) => base.some((sample) => sample[key] > 0));
  const lines = [...samples].map(([name, mine]) => [
    name,
    ...used.flatMap(({ key, digits, counted }) => {
      const text = median(mine.map((sample) => sample[key])).toFixed(digits);
      return counted ? [text] : [text, mine === base ? ITSELF : spreadText(ratio(mine, base, key))];
    }),
  ]);
  const head = used.flatMap(({ head: name, counted }) => (counted ? [name] : [name, `to ${reference}`]));
  return { title, head: ['', ...head], lines };
}

function spreadText({ median: middle, min, max }) {
  if (![middle, min, max].every(Number.isFinite)) return '-';
  return `${figure(middle)} (${figure(min)}-${figure(max)})`;
}

/** Three significant digits, or all of a large number's. */
export function figure(value) {
  if (!Number.isFinite(value) || value === 0) return String(value);
  return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

/**
 * How a ratio stands to its floor. It is compared as it is printed, with three digits: 1.004 meets a floor of 1.
 *
 * @returns {{ floor?: string, met?: boolean }} a price has neither
 */
export function standing({ atLeast, atMost }, { median: middle }) {
  const printed = Number(figure(middle));
  if (atLeast !== undefined) return { floor: `>= ${atLeast}`, met: printed >= atLeast };
  if (atMost !== undefined) return { floor: `<= ${atMost}`, met: printed <= atMost };
  return {};
}

/** The ratios in the floors' order: prices, the floors that are met, and last those that are not. */
export function floorsTables(floors, ratios) {
  const rows = Object.entries(floors)
    .filter(([name]) => name in ratios)
    .map(([name, floor]) => {
      const { median: middle, min, max } = ratios[name];
      const { floor: text = '', met } = standing(floor, ratios[name]);
      const says = met === undefined ? '' : met ? 'met' : 'NOT MET';
      return { met, line: [name, figure(middle), figure(min), figure(max), text, says, floor.what] };
    });
  const head = ['', 'median', 'min', 'max', 'floor', '', ''];
  const withFloor = rows.filter(({ met }) => met !== undefined).length;
  return [
    {
      which: undefined,
      title: 'Prices, which have no floor',
      columns: head.map((name) => (name === 'floor' ? '' : name)),
    },
    { which: true, title: 'Floors that are met', columns: head },
    { which: false, title: 'Floors that are NOT MET', columns: head },
  ].flatMap(({ which, title, columns }) => {
    const lines = rows.filter(({ met }) => met === which).map(({ line }) => line);
    if (lines.length === 0) return [];
    const count = which === undefined ? `${lines.length}` : `${lines.length} of ${withFloor}`;
    return [{ title: `${title}: ${count}`, head: columns, lines }];
  });
}

/** For programs: of each ratio what `spread` tells of the rounds, and where it has a floor `floor` and `met`. */
export function standings(floors, ratios) {
  return Object.fromEntries(
    Object.entries(ratios).map(([name, ratioOf]) => {
      const { atLeast, atMost } = floors[name] ?? {};
      const floor = atLeast === undefined ? { atMost } : { atLeast };
      const { met } = standing(floor, ratioOf);
      const digits = Object.entries(ratioOf).map(([key, value]) => [key, Number(value.toPrecision(4))]);
      return [name, { ...Object.fromEntries(digits), ...(met !== undefined && { floor, met }) }];
    }),
  );
}

/** Columns as wide as they need to be: names and text to the left, numbers to the right. */
export function render({ title, head, lines }) {
  const rows = [head, ...lines];
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const isText = head.map((_, column) => column === 0 || lines.some((row) => /^[a-z…]/i.test(row[column])));
  const text = rows.map((row) =>
    row
      .map((cell, column) => (isText[column] ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join('  ')
      .trimEnd(),
  );
  return [title, '-'.repeat(title.length), ...text, ''].join('\n');
}
