import type { Paint } from './colours.js';
import type { BigNumber, Verdict } from './verdict.js';
import { COLUMNS, wrap } from './wrap.js';

const GAP = '  ';
const TILE = (COLUMNS - 2 * GAP.length) / 3;
const INSIDE = TILE - 4;

/**
 * The verdict of a surge for the terminal: broken promises, warnings, three numbers, what became of the people and a sentence. A busy
 * machine gets no verdict: only what was broken, and why the figures cannot be trusted.
 */
export function headline(verdict: Verdict, paint: Paint): string {
  const { title, people, numbers, sentence, checks, hold, warnings, busy } = verdict;
  const capitals = title.toUpperCase();
  const tiles = numbers.map((number) => tile(number, paint));
  const rows = tiles[0]!.map((_, row) => tiles.map((lines) => lines[row]).join(GAP));
  return [
    hold ? paint('title', capitals) : paint('alarm', ` ${capitals} `),
    ...checks.filter(({ holds }) => !holds).map(({ text }) => painted('bad', `! ${text}`, paint)),
    ...warnings.map((text) => painted('warning', `! ${text}`, paint)),
    '',
    ...(busy.length > 0
      ? []
      : [
          ...rows,
          paint('dim', 'without limits -> with limits'),
          '',
          ...people.map((text) => painted('title', text, paint)),
          '',
          wrap(sentence),
          '',
        ]),
    ...checks.filter(({ holds }) => holds).map(({ text }) => wrap(text)),
  ].join('\n');
}

function tile({ label, before, after, note, isGood }: BigNumber, paint: Paint): string[] {
  const numbers = `${before} -> ${after}`;
  const space = ' '.repeat(Math.max(0, INSIDE - numbers.length));
  const paintedNumbers = `${paint(isGood.before ? 'good' : 'bad', before)} -> ${paint(isGood.after ? 'good' : 'bad', after)}`;
  const bar = '─'.repeat(INSIDE + 2);
  return [
    `┌${bar}┐`,
    `│ ${label.toUpperCase().padEnd(INSIDE)} │`,
    `│ ${paintedNumbers}${space} │`,
    `│ ${paint('dim', note.padEnd(INSIDE))} │`,
    `└${bar}┘`,
  ];
}

/** Paints each line for itself, so that a line break does not carry a style. */
function painted(style: Parameters<Paint>[0], text: string, paint: Paint): string {
  return wrap(text)
    .split('\n')
    .map((line) => paint(style, line))
    .join('\n');
}
