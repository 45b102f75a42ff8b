import { styleText } from 'node:util';

export type Colour = 'red' | 'green';

/** Colours a text, or returns it as it is. */
export type Paint = (colour: Colour, text: string) => string;

/** Colours on a terminal, unless `NO_COLOR` is set. `FORCE_COLOR` asks for colours everywhere. */
export function paintFor(stream: NodeJS.WritableStream): Paint {
  return (colour, text) => styleText(colour, text, { stream });
}
