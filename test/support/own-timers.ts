/**
 * Counts the timers that a source file has armed on the faked globals. The specs of a worker share its globals: what another spec has
 * left running may arm timers, too. Call it after `jest.useFakeTimers()`, which takes it back with `jest.useRealTimers()`.
 *
 * @param file a part of the file's path, such as `worker-pool.ts`
 */
export function ownTimers(file: string): () => number {
  const armed = new Set<unknown>();
  for (const [set, clear] of [
    ['setTimeout', 'clearTimeout'],
    ['setInterval', 'clearInterval'],
  ] as const) {
    const [arm, disarm] = [globalThis[set], globalThis[clear]];
    Object.assign(globalThis, {
      [set]: (task: (...given: unknown[]) => void, ms: number, ...given: unknown[]) => {
        const id = arm(() => {
          if (set === 'setTimeout') armed.delete(id);
          task(...given);
        }, ms);
        if (new Error().stack!.includes(file)) armed.add(id);
        return id;
      },
      [clear]: (id: NodeJS.Timeout) => {
        armed.delete(id);
        disarm(id);
      },
    });
  }
  return () => armed.size;
}
