import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Line, ROUTES } from './support/conversation.js';
import { type Answer, AppFolder, ServedApp } from './support/served-app.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TIMEOUT_MS = 180_000;
const REQUESTS = 24;

/** Runs the command in a process of its own. */
async function migrate(folder: AppFolder, ...options: string[]): Promise<string> {
  const execArgv = ['--import', join(ROOT, 'test/support/typescript-loader.js')];
  const command = fork(join(ROOT, 'libs/migrate/src/cli.ts'), [folder.path, ...options], { execArgv, silent: true });
  const chunks: Buffer[] = [];
  for (const stream of [command.stdout!, command.stderr!]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(command, 'close');
  return Buffer.concat(chunks).toString();
}

async function filesOf({ path, sources }: AppFolder): Promise<string[]> {
  const names = [...(await readdir(sources)).map((name) => join(sources, name)), join(path, 'package.json')];
  return Promise.all(names.map((name) => readFile(name, 'utf8')));
}

/** The longest time that a rejection asks the client to wait: milliseconds. */
function waitMs({ headers }: Answer): number {
  const seconds = Object.entries(headers).filter(([name]) => name.startsWith('retry-after'));
  return Math.max(0, ...seconds.map(([, value]) => Number(value) * 1000));
}

/** Sends requests to every route, one after the other, and waits after a rejection for as long as the answer says. */
async function askPolitely(app: ServedApp): Promise<{ lines: Line[]; answers: Answer[] }> {
  const lines: Line[] = [];
  const answers: Answer[] = [];
  for (const [method, path] of ROUTES) {
    let advance = 0;
    for (let i = 0; i < REQUESTS; i++) {
      const line = { advance, method, path, headers: { 'user-agent': 'browser' } };
      const [answer] = await app.hold([line]);
      lines.push(line);
      answers.push(answer!);
      advance = answer!.status === 429 ? waitMs(answer!) : 10;
    }
  }
  return { lines, answers };
}

/** The headers of limits. A policy that the codemod has named anew has its former name here. */
function limitsOf({ headers }: Answer): Record<string, number> {
  const limits = Object.entries(headers).filter(([name]) => name.startsWith('x-ratelimit'));
  return Object.fromEntries(limits.map(([name, value]) => [name.replace('-default-by-key', ''), Number(value)]));
}

// blockDuration 5 s, ttl 20 s: throttler forgets the hits after the block.
const SHORT_BLOCK = 'DELETE /payments/card';

describe('an application of 30 routes that the codemod has rewritten', () => {
  let folder: AppFolder;
  let before: Awaited<ReturnType<typeof askPolitely>>;
  let after: Answer[];
  let logged: string;
  let printed: string;
  let dry: object;

  /** Both answers to each request, of a route with equal blocks. */
  const pairs = (): (readonly [line: Line, was: Answer, is: Answer])[] =>
    before.lines
      .map((line, i) => [line, before.answers[i]!, after[i]!] as const)
      .filter(([{ method, path }]) => `${method} ${path}` !== SHORT_BLOCK);

  beforeAll(async () => {
    folder = await AppFolder.make();
    const held = async <T>(hold: (app: ServedApp) => Promise<T>): Promise<T> => {
      await using app = await ServedApp.start(folder, 'Express');
      return await hold(app);
    };
    before = await held(askPolitely);
    const sources = await filesOf(folder);
    const dryRun = await migrate(folder, '--dry-run');
    dry = { dryRun, untouched: JSON.stringify(await filesOf(folder)) === JSON.stringify(sources) };
    printed = await migrate(folder);
    after = await held(async (app) => {
      const answers = await app.hold(before.lines);
      logged = app.logged;
      return answers;
    });
  }, TIMEOUT_MS);

  afterAll(() => folder[Symbol.asyncDispose]());

  it('gives the same statuses and bodies to clients that wait for as long as they are told', () => {
    const said = ({ status, body }: Answer): unknown => (status === 429 ? status : [status, body]);
    expect(pairs().map(([line, , is]) => [line, said(is)])).toEqual(pairs().map(([line, was]) => [line, said(was)]));
    const rejected = pairs().filter(([, { status }]) => status === 429);
    expect(new Set(rejected.map(([{ path }]) => path)).size).toBeGreaterThan(20);
  });

  it("rejects with Floodgate's body, and with the longest wait as Retry-After for every client", () => {
    for (const [, , { body, headers }] of pairs().filter(([, , { status }]) => status === 429)) {
      expect(JSON.parse(body)).toMatchObject({ statusCode: 429, error: 'rate_limit_exceeded' });
      expect(Number(headers['retry-after'])).toBe((JSON.parse(body) as { retry_after: number }).retry_after);
      expect(headers['cache-control']).toBe('no-store');
    }
  });

  it('keeps the headers of limits, but for Reset; a rejection charges nothing, and says so', () => {
    const but = (limits: Record<string, number>, charged: number): unknown =>
      Object.fromEntries(
        Object.entries(limits)
          .filter(([name]) => !name.includes('-reset'))
          .map(([name, value]) => [name, name.includes('-remaining') ? value - charged : value]),
      );
    for (const [line, was, is] of pairs()) {
      expect([line, but(limitsOf(is), is.status === 429 ? 1 : 0)]).toEqual([line, but(limitsOf(was), 0)]);
    }
  });

  it('boots without a warning, and warns at run time of the limit that is a function', () => {
    expect(logged.trim().split('\n')).toEqual([
      expect.stringMatching(/AccountsController\.orders, .*#fg_shared_state/),
    ]);
  });

  it(
    'compiles, depends on Floodgate alone, and stays as it is when the command runs again',
    async () => {
      expect(await folder.typeErrors()).toBe('');
      const { dependencies } = JSON.parse(await readFile(join(folder.path, 'package.json'), 'utf8')) as {
        dependencies: object;
      };
      expect(Object.keys(dependencies)).toEqual(['@nestjs/common', 'nestjs-floodgate']);
      const rewritten = await filesOf(folder);
      expect(await migrate(folder)).toBe('No file uses @nestjs/throttler: nothing to do.\n');
      expect(await filesOf(folder)).toEqual(rewritten);
    },
    TIMEOUT_MS,
  );

  it('lists what a person has to decide, with file and line, and changes nothing with --dry-run', () => {
    expect(dry).toEqual({ dryRun: expect.stringContaining('would rewrite src/app.module.ts'), untouched: true });
    expect(printed).toContain(
      'src/payments.controller.ts:17  blockDuration seconds(5) is shorter than its ttl seconds(20): it is left out',
    );
    expect(printed).not.toContain('blockDuration seconds(30)');
    expect(printed).toContain('src/accounts.controller.ts:15  limit is a function');
    expect(printed).toContain('src/accounts.controller.ts:22  generateKey became the identity');
  });
});
