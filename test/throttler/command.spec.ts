import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { AppFolder } from './support/served-app.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COMMAND = join(ROOT, 'libs/rate-limit/bin/nestjs-floodgate.js');

function command(cwd: string, ...args: string[]): { status: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, ...args], { cwd, encoding: 'utf8' });
  return { status, out: stdout, err: stderr };
}

// npx finds the workspace from the root of this repository, as it finds an installed package from an application's.
it('runs the codemod, built as it is packed, through npx', async () => {
  const built = spawnSync('npm', ['run', 'build', '-w', 'nestjs-floodgate-migrate'], { cwd: ROOT, encoding: 'utf8' });
  expect(`${built.status} ${built.stdout}`).toMatch(/^0 /);
  await using folder = await AppFolder.make();
  const { status, out } = command(ROOT, 'migrate', folder.path, '--dry-run');
  expect(out).toContain('would rewrite src/app.module.ts');
  expect(status).toBe(0);
  expect(command(ROOT, 'migrate', '--no-such-option').status).toBe(1);
}, 120_000);

it('says how it is used', () => {
  expect(command(ROOT)).toMatchObject({ status: 0, out: expect.stringMatching(/^Usage: nestjs-floodgate migrate/) });
  expect(command(ROOT, 'migrat')).toMatchObject({
    status: 1,
    err: expect.stringMatching(/'migrat' is not a command\n\nUsage/),
  });
});
