import { setImmediate as turn } from 'node:timers/promises';

/** Jest gives tests a copy of `process`, whose listeners get no events. A function of Node's own reaches the real one. */
const real = (turn.constructor as FunctionConstructor)('return process')() as NodeJS.Process;

/** Collects Node's warnings (leaked listeners, timers that are too long) until the first reading. */
export function nodeWarnings(): () => Promise<string[]> {
  const warnings: string[] = [];
  const note = ({ name, message }: Error): void => {
    if (name !== 'ExperimentalWarning') warnings.push(`${name}: ${message}`); // about Jest's own ES modules
  };
  real.on('warning', note);
  return async () => {
    await turn(); // Node emits a warning in a later turn
    real.off('warning', note);
    return warnings;
  };
}

/** Collects unhandled rejections, which would end a process, until the first reading. */
export function unhandledRejections(): () => Promise<unknown[]> {
  const reasons: unknown[] = [];
  const note = (reason: unknown): void => void reasons.push(reason);
  const others = real.listeners('unhandledRejection');
  real.removeAllListeners('unhandledRejection').on('unhandledRejection', note);
  return async () => {
    for (let i = 0; i < 2; i++) await turn(); // Node reports them once the promise queue is empty
    real.off('unhandledRejection', note);
    for (const other of others) real.on('unhandledRejection', other);
    return reasons;
  };
}
