/**
 * Waits for all promises. Of several failures the first one in their order is thrown, whichever came first, and none is left
 * unhandled.
 */
export async function allInOrder<T>(promises: readonly (T | Promise<T>)[]): Promise<T[]> {
  const settled = await Promise.allSettled(promises);
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
}
