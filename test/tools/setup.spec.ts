import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { isProject, NEEDED_BY } from '../../tools/programs.js';

const CONFIG: string = '../../jest.config.js';
const { default: config } = (await import(CONFIG)) as {
  default: { projects: { displayName: string }[] };
};

it('knows what each project of Jest needs', () => {
  const projects = Object.keys(NEEDED_BY).filter(isProject);
  expect(projects.toSorted()).toEqual(config.projects.map(({ displayName }) => displayName).toSorted());
});

/** A machine whose `PATH` is a folder of these shell scripts alone. */
describe('npm run setup on a machine without apt-get', () => {
  function setup(
    variables: Record<string, string>,
    scripts: Record<string, string> = {},
  ): { status: number | null; stdout: string; stderr: string } {
    const folder = mkdtempSync(join(tmpdir(), 'floodgate-setup-'));
    try {
      for (const [name, script] of Object.entries(scripts)) {
        writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      }
      return spawnSync(process.execPath, ['--import', './test/support/typescript-loader.js', 'tools/setup.ts'], {
        env: { PATH: folder, ...variables },
        encoding: 'utf8',
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  it('names each program, its package, what works without it and what does not', () => {
    const { status, stderr } = setup({});
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^setup: not installed: redis-server, nats-server, .*: this system has neither apt-get nor Homebrew/,
    );
    expect(stderr).toContain(
      "\n  redis-server or valkey-server (or REDIS_SERVER_BIN=<its path>); Debian's package is redis-server\n",
    );
    expect(stderr).toContain("\n  promtool; Debian's package is prometheus\n");
    expect(stderr).toContain(
      '\n  npm run build && npm run jest -- --selectProjects unit consumers llm package testing-kit\nThese do not:\n',
    );
    expect(stderr).toContain(', the project alone, npm run test:browser,');
  });

  it('takes a program that a variable names', () => {
    const { stderr } = setup({ REDIS_SERVER_BIN: process.execPath, CHROMIUM_BIN: process.execPath });
    expect(stderr).toMatch(/^setup: not installed: nats-server, /);
    expect(stderr).toMatch(
      /^ {2}npm start, npm run check, npm run build, npm run test:browser,.* npm run bench, npm run site:bench$/m,
    );
  });

  describe('but with Homebrew', () => {
    const BREW = String.raw`
      case "$2" in redis) set -- redis-server ;; postgresql@17) set -- postgres ;; *) shift ;; esac
      printf '#!/bin/sh\n' > "${'$'}{0%/*}/$1" && /bin/chmod +x "${'$'}{0%/*}/$1"
      [ "$1" = prometheus ] && printf '#!/bin/sh\n' > "${'$'}{0%/*}/promtool" && /bin/chmod +x "${'$'}{0%/*}/promtool"
      exit 0`;

    it('installs what Homebrew has, and names what is skipped', () => {
      const { status, stdout } = setup({}, { brew: BREW, openssl: 'exit 0' });
      // A machine that runs this may have PostgreSQL and libfaketime outside of `PATH`.
      expect(stdout).toMatch(/^setup: installing redis, nats-server, .*prometheus$/m);
      expect(stdout).toMatch(/^setup: not for this system: .*chromium\. `npm test` skips what needs them$/m);
      expect(stdout).toMatch(/--selectProjects unit .*conformance.* contexts/);
      expect(status).toBe(0);
    });

    it('fails where Homebrew does not install a formula', () => {
      const { status, stderr } = setup({}, { brew: 'exit 1', openssl: 'exit 0' });
      expect(stderr).toMatch(/^setup: not installed, although brew install has run: redis-server, nats-server/);
      expect(status).toBe(1);
    });
  });
});
