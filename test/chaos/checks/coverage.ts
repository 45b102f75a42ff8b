import type { PolicyRow } from './exact.js';
import type { Failure, Run, Verdict } from './check.js';

/** The minimum of events in a run of a minute. With fewer, its checks prove nothing. */
const PER_MINUTE = { requests: 4000, 'decisions by the store': 4000, 'decisions by a fallback': 30, rejections: 500 };

export function checkCoverage(run: Run, rows: readonly PolicyRow[]): Verdict {
  const minutes = (run.ended - run.began) / 60_000;
  const sum = (of: (row: PolicyRow) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const seen = {
    requests: run.histories.reduce((total, { requests }) => total + requests.length, 0),
    'decisions by the store': sum(({ store }) => store),
    'decisions by a fallback': sum(({ local, open, closed }) => local + open + closed),
    rejections: sum(
      ({ store, 'denial-cache': cached, local, open, admitted }) => store + cached + local + open - admitted,
    ),
  };
  const failures = (Object.keys(PER_MINUTE) as (keyof typeof PER_MINUTE)[])
    .filter((name) => seen[name] < PER_MINUTE[name] * minutes)
    .map((name): Failure => ({ at: run.ended, text: `only ${seen[name]} ${name} in ${minutes.toFixed(1)} minutes` }));
  const slowMs = run.slow.reduce((total, { from, to }) => total + to - from, 0);
  const share = slowMs / (run.ended - run.began);
  if (share > MOST_SLOW) {
    const text = `the machine was too busy for ${(share * 100).toFixed(0)} % of the time: the run proves nothing`;
    failures.push({ at: run.ended, text });
  }
  const text = Object.entries(seen).map(([name, count]) => `${count} ${name}`);
  return {
    name: 'coverage',
    failures,
    seen: `${text.join(', ')}; the machine was too busy for ${(share * 100).toFixed(1)} % of the time`,
  };
}

/** The share of slow time that a run may have. Two or three runs at once on two processors stay below it. */
const MOST_SLOW = 0.4;
