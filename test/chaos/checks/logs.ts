import type { Failure, Run, Verdict } from './check.js';

/** Lines that a process may log in any second, once it serves: each kind of warning is rationed to one. */
const LINES_PER_SECOND = 8;
const SECOND = 1000;

/** Checks that a process logs few lines a second and no error. */
export function checkLogs(run: Run): Verdict {
  const failures: Failure[] = [];
  let [lines, most] = [0, 0];
  for (const { logs, requests, path, name } of run.histories) {
    const servesFrom = requests[0]?.askedAt ?? Infinity;
    const served = logs.filter(({ at }) => at >= servesFrom);
    lines += served.length;
    let first = 0;
    let told = -Infinity;
    for (const [i, { at, level, text }] of served.entries()) {
      while (served[first]!.at <= at - SECOND) first++;
      const count = i - first + 1;
      most = Math.max(most, count);
      if (count > LINES_PER_SECOND && at > told + SECOND) {
        told = at;
        failures.push({
          at,
          text: `${name} logs more than ${LINES_PER_SECOND} lines in a second, such as: ${text}`,
          path,
        });
      }
      if (level === 'error' || level === 'fatal')
        failures.push({ at, text: `${name} logs an ${level}: ${text}`, kind: level, path });
    }
  }
  return { name: 'logs', failures, seen: `${lines} lines, at most ${most} in a second of a process` };
}
