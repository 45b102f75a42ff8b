/**
 * Waits for all promises. If several fail, it throws the failure of the first one in the list, whichever failed first. No
 * rejection stays unhandled.
 */
export async function allInOrder<T>(promises: readonly (T | Promise<T>)[]): Promise<T[]> {
  const settled = await Promise.allSettled(promises);
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
}
