// `npm run test:faults`: the fault matrix alone, and its table at the end.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'faults-'));
const file = join(folder, 'rows.jsonl');
const jest = ['run', '--silent', 'jest', '--'];
const { status } = spawnSync('npm', [...jest, 'test/faults', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, FAULTS_FILE: file },
});
const rows = existsSync(file)
  ? readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  : [];
rmSync(folder, { recursive: true });

const ms = (value) => (value === undefined ? '-' : `${value.toFixed(value < 10 ? 1 : 0)} ms`);
console.table(
  Object.fromEntries(
    rows.map(({ fault, answers, p99Ms, slowestMs, recoveryMs, doubles, overAdmissions }) => [
      fault,
      {
        answers,
        p99: ms(p99Ms),
        slowest: ms(slowestMs),
        recovery: ms(recoveryMs),
        doubles,
        'over-admissions': overAdmissions,
      },
    ]),
  ),
);
process.exit(status ?? 1);
