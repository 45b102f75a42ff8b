import type { Failure, Run, Verdict } from './check.js';

/** No process ends by itself, rejects without a handler, or warns of itself; and each ends when it is told to. */
export function checkProcesses(run: Run): Verdict {
  const inside = run.histories.flatMap(({ wrong, name, path }) =>
    wrong.map(({ at, text }): Failure => ({ at, text: `${name}: ${text}`, path })),
  );
  return { name: 'processes', failures: [...run.wrong, ...inside], seen: `${run.histories.length} processes` };
}
