import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { AppFolder } from './support/served-app.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COMMAND = join(ROOT, 'libs/nest/bin/nestjs-floodgate.js');

function command(
  cwd: string,
  args: readonly string[],
  more: NodeJS.ProcessEnv = {},
): { status: number | null; out: string; err: string } {
  const env = { ...process.env, ...more };
  const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, ...args], { cwd, env, encoding: 'utf8' });
  return { status, out: stdout, err: stderr };
}

// npx finds the workspace from the root of this repository, as it finds an installed package from an application's.
it('runs the codemod, built as it is packed, through npx', async () => {
  const built = spawnSync('npm', ['run', 'build', '-w', 'nestjs-floodgate-migrate'], { cwd: ROOT, encoding: 'utf8' });
  expect(`${built.status} ${built.stdout}`).toMatch(/^0 /);
  await using folder = await AppFolder.make();
  const { status, out } = command(ROOT, ['migrate', folder.path, '--dry-run']);
  expect(out).toContain('would rewrite src/app.module.ts');
  expect(status).toBe(0);
  const failed = command(ROOT, ['migrate', '--no-such-option']);
  expect([failed.status, failed.err]).toEqual([1, expect.not.stringContaining('could not be installed')]);
});

it('says what to do when npx cannot install the codemod', () => {
  const empty = mkdtempSync(join(tmpdir(), 'without-codemod-'));
  try {
    writeFileSync(join(empty, 'package.json'), '{}');
    const { status, err } = command(empty, ['migrate'], {
      npm_config_offline: 'true',
      npm_config_cache: join(empty, 'cache'),
    });
    expect(status).toBe(1);
    const [sentence] = err.trim().split('\n').slice(-1);
    expect(sentence).toMatch(
      /^nestjs-floodgate: the codemod nestjs-floodgate-migrate@\^\d+\.\d+\.\d+ could not be installed, so nothing was rewritten: .*npm install --no-save.*\/migration#switch-the-imports$/,
    );
  } finally {
    rmSync(empty, { recursive: true });
  }
});

it('says how it is used', () => {
  expect(command(ROOT, [])).toMatchObject({
    status: 0,
    out: expect.stringMatching(/^Usage: nestjs-floodgate migrate/),
  });
  expect(command(ROOT, ['migrat'])).toMatchObject({
    status: 1,
    err: expect.stringMatching(/^Usage[^]*\n\nnestjs-floodgate: 'migrat' is not a command\n$/),
  });
});
