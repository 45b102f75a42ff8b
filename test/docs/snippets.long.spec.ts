import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisServer } from '../support/redis-server.js';
import { kindOf } from './support/kinds.js';
import { lintSnippets, prepareLint } from './support/lint.js';
import { readPage } from './support/markdown.js';
import { FOLDER, moduleOf, pathOf, patient } from './support/modules.js';
import { expectBlock, PageState } from './support/page-state.js';
import { PAGES, ROOT, textOf } from './support/pages.js';
import { GLOBALS, runSpecs, type SpecResults } from './support/specs.js';

// Every snippet of the pages: modules are type-checked and run, their applications are asked with the page's own commands, and
// what the page shows is compared with what comes. test/docs/README.md says how a page says what a snippet needs.

const TYPE_CHECK_MS = 120_000;
const BLOCK_MS = 100_000;
const STRICT = 'tsconfig.strict.json';
const BLOCKS = PAGES.map((page) => ({
  page,
  blocks: readPage(page).fences.map((fence) => ({ fence, kind: kindOf(fence) })),
})).filter(({ blocks }) => blocks.length > 0);

/** A mistake that the linter has to find among all others: its rules need types, and without them it would find nothing. */
const MISTAKE = {
  page: 'mistake.md',
  line: 1,
  lang: 'ts',
  meta: 'module',
  value:
    'RateLimitModule.forRoot({\n  plan: { resolve: (_, context) => context.switchToHttp().getRequest().plan },\n});',
  before: '',
  after: '',
};

let server: RedisServer;
let redis: Redis;
let typeCheck: Promise<string>;
let specResults: Promise<SpecResults>;

beforeAll(async () => {
  server = await RedisServer.start();
  redis = new Redis(server.url);
  process.env.REDIS_URL = server.url;
  process.env.IDENTITY_SECRET = 'of a page, and longer than 32 bytes';
  rmSync(`${ROOT}${FOLDER}`, { recursive: true, force: true });
  const all = BLOCKS.flatMap(({ blocks }) => blocks);
  for (const { fence, kind } of all) {
    if (kind.does === 'module') write(pathOf(fence), patient(moduleOf(fence, kind.frame)));
    if (kind.does === 'types' || kind.does === 'spec') write(pathOf(fence), moduleOf(fence, ''));
  }
  const compilerOptions = { noEmit: true, rootDir: '..', noUnusedLocals: false, noUnusedParameters: false };
  const include = ['**/*.ts'];
  write(`${ROOT}${FOLDER}/globals.d.ts`, GLOBALS);
  write(`${ROOT}${FOLDER}/${STRICT}`, JSON.stringify({ extends: '../tsconfig.json', compilerOptions, include }));
  write(pathOf(MISTAKE), moduleOf(MISTAKE, 'module'));
  prepareLint();
  // Beside the runs below, each in a process of its own.
  specResults = all.some(({ kind }) => kind.does === 'spec') ? runSpecs() : Promise.resolve([]);
  specResults.catch(() => undefined); // the blocks await it
  typeCheck = promisify(execFile)('node', ['node_modules/typescript/bin/tsc', '-p', `${FOLDER}/${STRICT}`], {
    cwd: ROOT,
  }).then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout: string }) => stdout,
  );
});

afterAll(async () => {
  await redis.quit();
  await server.stop();
  await Promise.allSettled([typeCheck, specResults]);
  rmSync(`${ROOT}${FOLDER}`, { recursive: true, force: true });
}, TYPE_CHECK_MS); // a run of some blocks with -t ends before the type check

describe.each(BLOCKS)('$page', ({ blocks }) => {
  const state = new PageState(() => redis);
  afterAll(() => state.close());

  it.each(blocks)(
    'line $fence.line: $fence.lang $fence.meta',
    ({ fence, kind }) => expectBlock(state, fence, kind, specResults),
    BLOCK_MS,
  );
});

it('every snippet has the right types', async () => expect(await typeCheck).toBe(''), TYPE_CHECK_MS);

it(
  'no snippet has a problem for the linter of a new project',
  async () => {
    const snippets = BLOCKS.flatMap(({ blocks }) => blocks).flatMap(({ fence, kind }) => {
      if (kind.does === 'module') return [{ fence, frame: kind.frame }];
      return kind.does === 'types' || kind.does === 'spec' ? [{ fence, frame: '' as const }] : [];
    });
    const problems = await lintSnippets([...snippets, { fence: MISTAKE, frame: 'module' }]);
    expect(problems).toEqual([
      expect.stringMatching(/^mistake\.md:3: typescript\(no-unsafe-return\)/),
      expect.stringMatching(/^mistake\.md:3: typescript\(no-unsafe-member-access\)/),
    ]);
  },
  TYPE_CHECK_MS,
);

it.each(PAGES)('%s reads nothing from an untyped request, in blocks that another test runs either', (page) => {
  expect(textOf(page)).not.toMatch(/getRequest\(\)[.?[]/);
});

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  // Two snippets of one name on a page: one of them would never run.
  writeFileSync(path, text, { flag: 'wx' });
}
