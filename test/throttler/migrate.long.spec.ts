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

const OF_LIMITS = /^(x-ratelimit|retry-after)/;

/** The headers of limits in answers of one status, by name without the policy: how often a value is the same, higher or lower. */
function headerDifferences(before: readonly Answer[], after: readonly Answer[], ofStatus: (status: number) => boolean) {
  const found: Record<string, Record<string, number>> = {};
  for (const [i, was] of before.entries()) {
    const is = after[i]!;
    if (was.status !== is.status || !ofStatus(was.status)) continue;
    const [old, renamed] = [limitsOf(was), limitsOf(is)];
    for (const name of new Set([...Object.keys(old), ...Object.keys(renamed)])) {
      const counts = (found[name.replace(/-(short|hourly)$/, '')] ??= {});
      const change = changeOf(old[name], renamed[name]);
      counts[change] = (counts[change] ?? 0) + 1;
    }
  }
  return found;
}

/** The headers of limits. A policy that the codemod has named anew has its former name here. */
function limitsOf({ headers }: Answer): Record<string, string> {
  const limits = Object.entries(headers).filter(([name]) => OF_LIMITS.test(name));
  return Object.fromEntries(limits.map(([name, value]) => [name.replace('-default-by-key', ''), value]));
}

function changeOf(was: string | undefined, is: string | undefined): string {
  if (was === is) return 'same';
  if (was === undefined) return 'new';
  if (is === undefined) return 'gone';
  return Number(is) > Number(was) ? 'higher' : 'lower';
}

/**
 * What differs for clients that do not wait. They pass earlier, because no block follows a rejection without a `blockDuration`.
 * What they spend then is missing a little later; and throttler forgets the hits of `DELETE /payments/card` after a block that is
 * shorter than its ttl.
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
  'POST /reports': { passes: 1, rejects: 1 },
  'PUT /webhooks/open': { passes: 4, rejects: 2 },
};

describe('an application of 30 routes that the codemod has rewritten', () => {
  let folder: AppFolder;
  let before: { impatient: Answer[]; polite: Awaited<ReturnType<typeof askPolitely>> };
  let after: { impatient: Answer[]; polite: Answer[]; logged: string };
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
    let logged = '';
    const heard = (said: readonly Line[]) =>
      held(async (app) => {
        const answers = await app.hold(said);
        logged += app.logged;
        return answers;
      });
    after = { impatient: await heard(CONVERSATION), polite: await heard(lines), logged: '' };
    after.logged = logged;
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

  it('lets clients that do not wait pass once their oldest request leaves the window, but for a blockDuration', () => {
    expect(differences(CONVERSATION, before.impatient, after.impatient)).toEqual(FOR_THE_IMPATIENT);
  });

  it("rejects with Floodgate's body, and with the longest wait as Retry-After for every client", () => {
    const rejected = after.impatient.filter(({ status }) => status === 429);
    for (const { body, headers } of rejected) {
      expect(JSON.parse(body)).toMatchObject({ statusCode: 429, error: 'rate_limit_exceeded' });
      expect(Number(headers['retry-after'])).toBe((JSON.parse(body) as { retry_after: number }).retry_after);
      expect(headers['cache-control']).toBe('no-store');
    }
    expect(rejected.length).toBeGreaterThan(100);
  });

  it("keeps throttler's names of headers, but for a policy with a name of its own", () => {
    const { lines, answers } = before.polite;
    const names = (answer: Answer): string[] => Object.keys(answer.headers).filter((name) => OF_LIMITS.test(name));
    const others = new Set<string>();
    for (const [i, line] of lines.entries()) {
      const [was, is] = [answers[i]!, after.polite[i]!];
      if (was.status !== is.status) continue;
      const expected = new Set(names(was));
      if (is.status === 429) expected.add('retry-after');
      if (names(is).toSorted().join() !== [...expected].toSorted().join()) others.add(routeOf(line));
    }
    // A generateKey became a policy `default-by-key`.
    expect([...others]).toEqual(['PATCH /accounts/me', 'POST /accounts/me/avatar']);
  });

  it('keeps the values of the headers of requests that pass, but for a later Reset', () => {
    expect(headerDifferences(before.polite.answers, after.polite, (status) => status !== 429)).toEqual({
      'x-ratelimit-limit': { same: 1171 },
      'x-ratelimit-remaining': { same: 1171 },
      'x-ratelimit-reset': { same: 869, higher: 302 },
    });
  });

  it('says in the headers of rejections that nothing is charged, and when the client passes', () => {
    expect(headerDifferences(before.polite.answers, after.polite, (status) => status === 429)).toEqual({
      'x-ratelimit-limit': { same: 117 },
      'x-ratelimit-remaining': { higher: 117 },
      'x-ratelimit-reset': { same: 98, higher: 8, lower: 11 },
      // New: the plain one beside that of a policy. Lower: no block, but for a blockDuration (`POST /payments`). Higher: one that
      // was shorter than the ttl.
      'retry-after': { same: 152, new: 71, lower: 37, higher: 5 },
    });
    const remaining = before.polite.answers.flatMap(({ status, headers }, i) => {
      const is = after.polite[i]!;
      if (status !== 429 || is.status !== 429) return [];
      return Object.entries(headers)
        .filter(([name]) => name.startsWith('x-ratelimit-remaining'))
        .map(([name, value]) => Number(is.headers[name]) - Number(value));
    });
    expect(new Set(remaining)).toEqual(new Set([1]));
  });

  it('boots without a warning, and warns at run time of the limit that is a function', () => {
    const warnings = after.logged.split('\n').filter((line) => line !== '');
    expect(warnings).toHaveLength(2); // one of each process
    for (const warning of warnings) expect(warning).toMatch(/AccountsController\.orders, .*#fg_shared_state/);
  });

  it(
    'compiles',
    async () => {
      expect(await folder.typeErrors()).toBe('');
    },
    TIMEOUT_MS,
  );

  it('lists what a person has to decide, with file and line', () => {
    expect(printed).toContain(
      'src/payments.controller.ts:17  blockDuration seconds(5) is shorter than its ttl seconds(20): it is left out',
    );
    expect(printed).not.toContain('blockDuration seconds(30)');
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
