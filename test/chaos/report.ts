import { basename } from 'node:path';
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
  const groups = groupsOf(failures);
  for (const { first, more, until } of groups.slice(0, SHOWN_FAILURES)) {
    const others = more === 0 ? '' : ` (and ${more} like it until ${seconds(run, until)})`;
    console.log(
      `         at ${seconds(run, first.at)}: ${first.text}${others}${first.path === undefined ? '' : ` [${basename(first.path)}]`}`,
    );
  }
  if (groups.length > SHOWN_FAILURES)
    console.log(`         and ${groups.length - SHOWN_FAILURES} more groups of failures`);
}

interface Group {
  readonly first: Failure;
  more: number;
  until: number;
}

/** One cause has many failures. This shows the first of those that follow each other in one process. */
function groupsOf(failures: readonly Failure[]): readonly Group[] {
  const groups: Group[] = [];
  const latest = new Map<string, Group>();
  for (const failure of failures.toSorted((a, b) => a.at - b.at)) {
    const kind = `${failure.path} ${failure.kind}`;
    const group = latest.get(kind);
    if (failure.kind !== undefined && group !== undefined && failure.at - group.until < TOGETHER_MS) {
      group.more++;
      group.until = failure.at;
      continue;
    }
    const begun = { first: failure, more: 0, until: failure.at };
    latest.set(kind, begun);
    groups.push(begun);
  }
  return groups;
}

const TOGETHER_MS = 2000;

function seconds({ began }: Run, at: number): string {
  return `${((at - began) / 1000).toFixed(3)} s`;
}
