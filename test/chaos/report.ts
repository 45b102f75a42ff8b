import type { Failure, Run, Verdict } from './checks/check.js';
import type { PolicyRow } from './checks/exact.js';
import { type FaultKind, KINDS, type Storm, textOf } from './plan.js';

const SHOWN_FAILURES = 12;

export function printPlan(storms: readonly Storm[]): void {
  for (const { faults, calmUntil } of storms) {
    for (const fault of faults) console.log(textOf(fault));
    console.log(`${(calmUntil / 1000).toFixed(1).padStart(6)} s  (calm until then)`);
  }
}

export function printReport(run: Run, rows: readonly PolicyRow[], verdicts: readonly Verdict[]): void {
  console.log('\nfaults');
  const faults = Object.fromEntries(
    (Object.keys(KINDS) as FaultKind[]).flatMap((kind) => {
      const of = run.injuries.filter(({ fault }) => fault.kind === kind);
      const total = of.reduce((sum, { from, to }) => sum + to - from, 0);
      return of.length === 0 ? [] : [[kind, { times: of.length, seconds: Number((total / 1000).toFixed(1)) }]];
    }),
  );
  console.table(faults);
  console.log('decisions and admissions');
  console.table(
    Object.fromEntries(
      rows.map(({ policy, over, overLocally, ...row }) => [
        policy,
        { ...row, 'over-admissions': over, 'over local shares': overLocally },
      ]),
    ),
  );
  const answers = new Map<number, number>();
  for (const { status } of run.sent) answers.set(status, (answers.get(status) ?? 0) + 1);
  const statuses = [...answers]
    .toSorted(([a], [b]) => a - b)
    .map(([status, count]) => `${count} x ${status || 'none'}`);
  console.log(`answers over HTTP: ${statuses.join(', ')}\n`);
  for (const verdict of verdicts) printVerdict(run, verdict);
}

function printVerdict(run: Run, { name, failures, seen }: Verdict): void {
  console.log(`${failures.length === 0 ? 'ok    ' : 'FAILED'} ${name}: ${seen}`);
  for (const failure of failures.slice(0, SHOWN_FAILURES)) console.log(`         ${textOfFailure(run, failure)}`);
  if (failures.length > SHOWN_FAILURES) console.log(`         and ${failures.length - SHOWN_FAILURES} more`);
}

function textOfFailure({ began }: Run, { at, text, path }: Failure): string {
  return `at ${((at - began) / 1000).toFixed(3)} s: ${text}${path === undefined ? '' : ` [${path}]`}`;
}
