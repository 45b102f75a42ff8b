/**
 * What a piece of work answers, and the most processor time in milliseconds that the process took in one turn of its event loop
 * meanwhile. Other processes do not change it, as they change how long the turn lasted.
 */
export async function stallOf<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly stallMs: number }> {
  let before = process.cpuUsage();
  let stallMs = 0;
  let next: NodeJS.Immediate;
  const turn = (): void => {
    const { user, system } = process.cpuUsage(before);
    stallMs = Math.max(stallMs, (user + system) / 1000);
    before = process.cpuUsage();
    next = setImmediate(turn);
  };
  next = setImmediate(turn);
  try {
    const result = await work();
    await new Promise((resolve) => setImmediate(resolve));
    return { result, stallMs };
  } finally {
    clearImmediate(next);
  }
}
