import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { NEEDED_BY } from '../../tools/programs.js';

jest.setTimeout(60_000); // it is real time, and the machine may be busy

const CONFIG: string = '../../jest.config.js';
const { default: config } = (await import(CONFIG)) as {
  default: { projects: { displayName: string }[] };
};

it('knows what each project of Jest needs', () => {
  const projects = Object.keys(NEEDED_BY).filter((name) => /^[\w-]+$/.test(name));
  expect(projects.toSorted()).toEqual(config.projects.map(({ displayName }) => displayName).toSorted());
});

describe('npm run setup on a machine without apt-get', () => {
  /** `PATH` is an empty folder: no program of it is found, and no package can be installed. */
  function setup(variables: Record<string, string>): { status: number | null; stderr: string } {
    const folder = mkdtempSync(join(tmpdir(), 'floodgate-setup-'));
    try {
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
    expect(stderr).toMatch(/^setup: not installed: redis-server, nats-server, .*: this system has no apt-get/);
    expect(stderr).toContain(
      "\n  redis-server or valkey-server (or REDIS_SERVER_BIN=<its path>); Debian's package is redis-server\n",
    );
    expect(stderr).toContain("\n  promtool; Debian's package is prometheus\n");
    expect(stderr).toContain(
      '\n  npm run build && npm run jest -- --selectProjects unit consumers llm package testing-kit\nThese do not:\n',
    );
    expect(stderr).toContain(', the project alone, test/contexts/brokers.spec.ts, npm run test:browser,');
  });

  it('takes a program that a variable names', () => {
    const { stderr } = setup({ REDIS_SERVER_BIN: process.execPath, CHROMIUM_BIN: process.execPath });
    expect(stderr).toMatch(/^setup: not installed: nats-server, /);
    expect(stderr).toMatch(
      /^ {2}npm start, npm run check, npm run build, npm run test:browser,.* npm run bench, npm run site:bench$/m,
    );
  });
});
