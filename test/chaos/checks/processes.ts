import type { Failure, Run, Verdict } from './check.js';

/** Checks that no process ends by itself, has an unhandled rejection or a Node warning, or ignores SIGTERM. */
export function checkProcesses(run: Run): Verdict {
  const inside = run.histories.flatMap(({ wrong, name, path }) =>
    wrong.map(({ at, text }): Failure => ({ at, text: `${name}: ${text}`, path })),
  );
  return { name: 'processes', failures: [...run.wrong, ...inside], seen: `${run.histories.length} processes` };
}
