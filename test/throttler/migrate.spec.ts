import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CONVERSATION, type Line } from './support/conversation.js';
import { askPolitely } from './support/polite-client.js';
import { type Answer, AppFolder, ServedApp } from './support/served-app.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TIMEOUT_MS = 180_000;

/** Runs the command in a process of its own. */
async function migrate(folder: AppFolder, ...options: string[]): Promise<string> {
  const execArgv = ['--import', join(ROOT, 'test/support/typescript-loader.js')];
  const command = fork(join(ROOT, 'libs/migrate/src/cli.ts'), [folder.path, ...options], { execArgv, silent: true });
  const chunks: Buffer[] = [];
  for (const stream of [command.stdout!, command.stderr!]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(command, 'close');
  return Buffer.concat(chunks).toString();
}

async function filesOf({ path, sources }: AppFolder): Promise<Record<string, string>> {
  const names = [...(await readdir(sources)).map((name) => join(sources, name)), join(path, 'package.json')];
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(name, 'utf8')] as const)),
  );
}

const routeOf = ({ method, path }: Line): string => `${method} ${path}`;

/** How often a route answers otherwise: it rejects less (`passes`), or more (`rejects`). */
function differences(lines: readonly Line[], before: readonly Answer[], after: readonly Answer[]) {
  const found: Record<string, { passes: number; rejects: number }> = {};
  for (const [i, line] of lines.entries()) {
    const [was, is] = [before[i]!.status, after[i]!.status];
    if (was === is) continue;
    const counts = (found[routeOf(line)] ??= { passes: 0, rejects: 0 });
    counts[is === 429 ? 'rejects' : 'passes']++;
  }
  return found;
}

/**
 * What differs for clients that do not wait. They pass earlier, because no block follows a rejection. What they spend then is
 * missing a little later; and throttler forgets the hits of `DELETE /payments/card` after a block that is shorter than its ttl.
 */
const FOR_THE_IMPATIENT = {
  'DELETE /payments/card': { passes: 2, rejects: 3 },
  'GET /accounts/me': { passes: 3, rejects: 1 },
  'GET /accounts/orders': { passes: 5, rejects: 0 },
  'GET /catalog': { passes: 2, rejects: 1 },
  'GET /catalog/7': { passes: 4, rejects: 2 },
  'GET /catalog/search?q=bicycle': { passes: 2, rejects: 1 },
  'GET /health/deep': { passes: 4, rejects: 2 },
  'GET /health/live': { passes: 2, rejects: 0 },
  'GET /health/ready': { passes: 2, rejects: 0 },
  'GET /reports': { passes: 1, rejects: 1 },
  'GET /reports/summary': { passes: 1, rejects: 1 },
  'PATCH /accounts/me': { passes: 3, rejects: 0 },
  'POST /auth/login': { passes: 1, rejects: 0 },
  'POST /auth/refresh': { passes: 2, rejects: 0 },
  'POST /auth/reset': { passes: 2, rejects: 0 },
  'POST /catalog': { passes: 2, rejects: 1 },
  'POST /payments': { passes: 4, rejects: 0 },
  'POST /reports': { passes: 1, rejects: 1 },
  'PUT /webhooks/open': { passes: 4, rejects: 2 },
};

describe('an application of 30 routes that the codemod has rewritten', () => {
  let folder: AppFolder;
  let before: { impatient: Answer[]; polite: Awaited<ReturnType<typeof askPolitely>> };
  let after: { impatient: Answer[]; polite: Answer[] };
  let printed: string;
  let dryRun: string;
  let untouched: boolean;
  let again: { printed: string; same: boolean };

  beforeAll(async () => {
    folder = await AppFolder.make();
    const held = async <T>(hold: (app: ServedApp) => Promise<T>): Promise<T> => {
      await using app = await ServedApp.start(folder, 'Express');
      return await hold(app);
    };
    before = { impatient: await held((app) => app.hold(CONVERSATION)), polite: await held(askPolitely) };
    const sources = await filesOf(folder);
    dryRun = await migrate(folder, '--dry-run');
    untouched = JSON.stringify(await filesOf(folder)) === JSON.stringify(sources);
    printed = await migrate(folder);
    const rewritten = await filesOf(folder);
    again = { printed: await migrate(folder), same: false };
    again.same = JSON.stringify(await filesOf(folder)) === JSON.stringify(rewritten);
    const { lines } = before.polite;
    after = { impatient: await held((app) => app.hold(CONVERSATION)), polite: await held((app) => app.hold(lines)) };
  }, TIMEOUT_MS);

  afterAll(() => folder[Symbol.asyncDispose]());

  it('gives the same statuses to clients that wait for as long as they are told, but for a block that is shorter than its ttl', () => {
    const { lines, answers } = before.polite;
    expect(differences(lines, answers, after.polite)).toEqual({
      // blockDuration 5 s, ttl 20 s: throttler forgets the hits after the block.
      'DELETE /payments/card': { passes: 0, rejects: 12 },
    });
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(100);
  });

  it('gives the same bodies to requests that pass', () => {
    const { lines, answers } = before.polite;
    const bodies = (all: readonly Answer[]): unknown[] =>
      all.flatMap(({ body, status }, i) => (status === 429 || lines[i]!.path === '/payments/card' ? [] : [body]));
    expect(bodies(after.polite)).toEqual(bodies(answers));
  });

  it('lets clients that do not wait pass once their oldest request leaves the window, and has no block', () => {
    expect(differences(CONVERSATION, before.impatient, after.impatient)).toEqual(FOR_THE_IMPATIENT);
  });

  it("rejects with Floodgate's body, and with one set of headers", () => {
    const rejected = after.impatient.filter(({ status }) => status === 429);
    for (const { body, headers } of rejected) {
      expect(JSON.parse(body)).toMatchObject({ statusCode: 429, error: 'rate_limit_exceeded' });
      expect(Number(headers['retry-after'])).toBe((JSON.parse(body) as { retry_after: number }).retry_after);
    }
    const names = new Set(
      after.impatient.flatMap(({ headers }) => Object.keys(headers).filter((name) => /limit|retry/.test(name))),
    );
    expect([...names].toSorted()).toEqual([
      'retry-after',
      'x-ratelimit-limit',
      'x-ratelimit-remaining',
      'x-ratelimit-reset',
    ]);
  });

  it(
    'compiles',
    async () => {
      expect(await folder.typeErrors()).toBe('');
    },
    TIMEOUT_MS,
  );

  it('lists what a person has to decide, with file and line', () => {
    expect(printed).toContain('src/payments.controller.ts:7  blockDuration seconds(30) has no counterpart');
    expect(printed).toContain('src/payments.controller.ts:17  blockDuration seconds(5) has no counterpart');
    expect(printed).toContain('src/accounts.controller.ts:15  limit is a function');
    expect(printed).toContain('src/accounts.controller.ts:22  generateKey became the identity');
  });

  it('is the dependency then, and throttler is none', async () => {
    const { dependencies } = JSON.parse(await readFile(join(folder.path, 'package.json'), 'utf8')) as {
      dependencies: object;
    };
    expect(Object.keys(dependencies)).toEqual(['@nestjs/common', 'nestjs-floodgate']);
  });

  it('stays as it was with --dry-run, which says what it would do, and as it is when the command runs again', () => {
    expect(untouched).toBe(true);
    expect(dryRun).toContain('would rewrite src/app.module.ts');
    expect(again).toEqual({ printed: 'No file uses @nestjs/throttler: nothing to do.\n', same: true });
  });
});
