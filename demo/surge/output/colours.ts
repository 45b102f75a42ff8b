import { styleText } from 'node:util';

export type Style = 'good' | 'bad' | 'warning' | 'title' | 'dim' | 'alarm';

/** Colours a text, or returns it as it is. */
export type Paint = (style: Style, text: string) => string;

const STYLES = {
  good: ['bold', 'green'],
  bad: ['bold', 'red'],
  warning: ['bold', 'yellow'],
  title: ['bold'],
  dim: ['dim'],
  alarm: ['bold', 'white', 'bgRed'],
} as const satisfies Record<Style, Parameters<typeof styleText>[0]>;

export const plain: Paint = (_, text) => text;

export const coloured: Paint = (style, text) => styleText([...STYLES[style]], text);

/**
 * Colours on a terminal, unless the user wants none.
 *
 * `FORCE_COLOR` (any value but `0` and `false`) asks for colours everywhere, and wins as it does in Node. `NO_COLOR` (any value but an
 * empty one) asks for none.
 *
 * @see https://no-color.org and https://force-color.org
 */
export function paintFor(
  stream: { readonly isTTY?: boolean },
  { FORCE_COLOR, NO_COLOR, TERM }: NodeJS.ProcessEnv = process.env,
): Paint {
  if (FORCE_COLOR !== undefined) return FORCE_COLOR === '0' || FORCE_COLOR === 'false' ? plain : coloured;
  const isWanted = stream.isTTY === true && TERM !== 'dumb' && (NO_COLOR === undefined || NO_COLOR === '');
  return isWanted ? coloured : plain;
}
