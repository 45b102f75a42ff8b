/** The tail of a settled token bucket: lua/algorithms/token-bucket.lua describes it. */
export function settledTail(refunded: number, keep: number, overdrawn: number): Buffer {
  const tail = Buffer.alloc(25, ':');
  for (const [i, number] of [refunded, keep, overdrawn].entries()) tail.writeDoubleBE(number, 1 + 8 * i);
  return tail;
}
