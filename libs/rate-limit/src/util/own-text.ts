/**
 * Makes a text that was put together a flat one, in place. V8 keeps the parts of such a text, and of a part that was cut out
 * of a longer text the whole of it: a key that is kept could keep a header of many kilobytes.
 */
export function flatten(text: string): void {
  text.charCodeAt(0); // V8 flattens what it indexes
}

/** The same text with bytes of its own, wherever it was cut out of. */
export function ownText(text: string): string {
  const padded = ` ${text}`;
  flatten(padded);
  return padded.slice(1);
}
