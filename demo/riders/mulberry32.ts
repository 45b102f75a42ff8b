/**
 * A generator of pseudo-random numbers from 0, below 1: the same numbers for the same seed, in every process. Not for secrets.
 *
 * @param seed a whole number; its lowest 32 bits count
 */
export function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}
