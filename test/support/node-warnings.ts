import { setImmediate as turn } from 'node:timers/promises';

/** Jest gives tests a copy of `process`, whose listeners hear nothing. A function of Node's own has the real one in its scope. */
const real = (turn.constructor as FunctionConstructor)('return process')() as NodeJS.Process;

/** What Node warns of (listeners that pile up, timers that are too long) until it is read, which ends it. */
export function nodeWarnings(): () => Promise<string[]> {
  const warnings: string[] = [];
  const note = ({ name, message }: Error): void => {
    if (name !== 'ExperimentalWarning') warnings.push(`${name}: ${message}`); // Jest's own, of its modules
  };
  real.on('warning', note);
  return async () => {
    await turn(); // a warning is emitted in a turn of its own
    real.off('warning', note);
    return warnings;
  };
}

/** What nobody handled the rejection of, until it is read, which ends it; it would end a process. */
export function unhandledRejections(): () => Promise<unknown[]> {
  const reasons: unknown[] = [];
  const note = (reason: unknown): void => void reasons.push(reason);
  const others = real.listeners('unhandledRejection');
  real.removeAllListeners('unhandledRejection').on('unhandledRejection', note);
  return async () => {
    for (let i = 0; i < 2; i++) await turn(); // they are told once the promise queue is empty
    real.off('unhandledRejection', note);
    for (const other of others) real.on('unhandledRejection', other);
    return reasons;
  };
}
