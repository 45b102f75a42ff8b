import { LEAN_PROGRAMS } from '../../libs/rate-limit/src/stores/redis/program.generated.js';
import { leanProgramsOf } from '../../libs/rate-limit/src/stores/redis/programs.js';
import type { Call } from './server.js';

/** The programs for a single row, by the SHA-1 of their text; the header of lua/lean.lua describes their wire. */
const LEAN = new Map<string, { readonly algorithm: string; readonly isOne: boolean }>(
  Object.keys(LEAN_PROGRAMS).flatMap((algorithm) => {
    const { one, any } = leanProgramsOf(algorithm);
    return [[one.sha1, { algorithm, isOne: true }] as const, [any.sha1, { algorithm, isOne: false }] as const];
  }),
);

/** Whether a script is a lean program: it has one key. */
export function isLean(script: string): boolean {
  return LEAN.has(script);
}

/** The call of lua/program.lua that decides what a call of a lean program does. Any other call is returned as it is. */
export function asBatch(call: Call): Call {
  const lean = LEAN.get(call.script);
  if (lean === undefined) return call;
  const [now, skew, ask, take, times] = (lean.isOne ? 'redis 0 1 1 1' : call.args[0]!).split(' ') as [
    string,
    string,
    string,
    string,
    string,
  ];
  const numbers = lean.isOne ? call.args : call.args.slice(1);
  const policies = `[["${lean.algorithm}",${[ask, take, ...numbers].join()}]]`;
  const charges = String.fromCharCode(1, 1, Number(times) >>> 7, Number(times) & 127);
  return { script: call.script, keys: call.keys, args: [now, skew, policies, charges] };
}
