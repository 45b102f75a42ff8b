/** How many of `instants` are no later than `edge`, by bisection; the first `known` of them are. */
export function upTo(instants: readonly number[], edge: number, known: number): number {
  let low = known;
  let high = instants.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (instants[middle]! <= edge) low = middle + 1;
    else high = middle;
  }
  return low;
}
