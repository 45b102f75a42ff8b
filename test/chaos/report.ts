import { basename } from 'node:path';
import type { Failure, Run, Verdict } from './checks/check.js';
import type { PolicyRow } from './checks/exact.js';
import { type FaultKind, KINDS } from './plan.js';

const SHOWN_FAILURES = 12;

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
  console.log(`answers over HTTP: ${[...answers].map(([status, count]) => `${count} x ${status}`).join(', ')}\n`);
  for (const verdict of verdicts) printVerdict(run, verdict);
}

function printVerdict(run: Run, { name, failures, seen }: Verdict): void {
  console.log(`${failures.length === 0 ? 'ok    ' : 'FAILED'} ${name}: ${seen}`);
  const groups = groupsOf(failures);
  for (const { first, more } of groups.slice(0, SHOWN_FAILURES)) {
    const at = `${((first.at - run.began) / 1000).toFixed(3)} s`;
    const place = first.path === undefined ? '' : ` [${basename(first.path)}]`;
    console.log(`         at ${at}: ${first.text}${more === 0 ? '' : ` (and ${more} like it)`}${place}`);
  }
  if (groups.length > SHOWN_FAILURES)
    console.log(`         and ${groups.length - SHOWN_FAILURES} more groups of failures`);
}

interface Group {
  readonly first: Failure;
  more: number;
}

/** One cause has many failures. This shows the first of each kind in each process. */
function groupsOf(failures: readonly Failure[]): readonly Group[] {
  const groups = new Map<unknown, Group>();
  for (const failure of failures.toSorted((a, b) => a.at - b.at)) {
    const key = failure.kind === undefined ? failure : `${failure.path} ${failure.kind}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { first: failure, more: 0 });
    else group.more++;
  }
  return [...groups.values()];
}
