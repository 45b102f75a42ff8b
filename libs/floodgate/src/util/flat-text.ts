/**
 * Flattens a concatenated text in place. V8 keeps the parts of such a text, and for a part that is a slice the whole text that it
 * was cut from: a stored key could keep a header of many kilobytes in memory.
 */
export function flatten(text: string): void {
  text.charCodeAt(0); // V8 flattens what it indexes
}

/**
 * A copy of a text that shares no memory with a longer text. V8 joins two parts into one piece: a copy that is itself a slice, as
 * `slice` makes it, would cost each later comparison, such as of a Map's keys, several times as much.
 */
export function ownText(text: string): string {
  const middle = text.length >> 1;
  return [text.slice(0, middle), text.slice(middle)].join('');
}
