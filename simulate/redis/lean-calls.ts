import { LEAN } from '../../libs/floodgate/src/stores/redis/batch/programs.js';
import type { Call } from './server.js';

const ALGORITHMS = new Map([...LEAN].map(([algorithm, { sha1 }]) => [sha1, algorithm]));

/** Arguments of lua/program.lua behind the keys, and those of lua/lean.lua before the algorithm's numbers. */
const [BATCH_ARGUMENTS, LEAN_ARGUMENTS] = [5, 3];

/** How many arguments a call has behind its declared keys, before the other keys of a node. */
export function argumentCount(script: string, args: readonly string[]): number {
  return ALGORITHMS.has(script) ? LEAN_ARGUMENTS + Number(args[LEAN_ARGUMENTS - 1]) : BATCH_ARGUMENTS;
}

/** The call of lua/program.lua that decides what a call of a lean program does. Any other call is returned as it is. */
export function asBatch(call: Call): Call {
  const { script, keys, args } = call;
  const algorithm = ALGORITHMS.get(script);
  if (algorithm === undefined) return call;
  const [asked, counts, , ...numbers] = args as [string, string, string, ...string[]];
  const [now, skew, ask, take] = (asked || 'redis 0 1 1').split(' ') as [string, string, string, string];
  const policies = `[["${algorithm}",${[ask, take, ...numbers].join()}]]`;
  const codes = keys.flatMap((_, i) => {
    const [high, low] = counts === '' ? [0, 1] : [counts.charCodeAt(2 * i), counts.charCodeAt(2 * i + 1)];
    return [1, i + 1, high, low];
  });
  return { script, keys, args: [now, skew, policies, String.fromCharCode(...codes)] };
}
