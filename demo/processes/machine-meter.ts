import { cpus } from 'node:os';

/** Milliseconds that all cores of the machine together have been busy. */
export function machineBusyMs(): number {
  return cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);
}
