import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisServer } from '../support/redis-server.js';
import { kindOf } from './support/kinds.js';
import { readPage } from './support/markdown.js';
import { FOLDER, moduleOf, pathOf } from './support/modules.js';
import { expectBlock, PageState } from './support/page-state.js';
import { PAGES, ROOT } from './support/pages.js';

// Every snippet of the pages: modules are type-checked and run, their applications are asked with the page's own commands, and
// what the page shows is compared with what comes. docs/README.md says how a page says what a snippet needs.

const TYPE_CHECK_MS = 120_000;
const BLOCKS = PAGES.map((page) => ({
  page,
  blocks: readPage(page).fences.map((fence) => ({ fence, kind: kindOf(fence) })),
})).filter(({ blocks }) => blocks.length > 0);

let server: RedisServer;
let redis: Redis;
let typeCheck: Promise<string>;

beforeAll(async () => {
  server = await RedisServer.start();
  redis = new Redis(server.url);
  process.env.REDIS_URL = server.url;
  rmSync(`${ROOT}${FOLDER}`, { recursive: true, force: true });
  mkdirSync(`${ROOT}${FOLDER}`);
  for (const { blocks } of BLOCKS) {
    for (const { fence, kind } of blocks) {
      if (kind.does === 'module') writeFileSync(pathOf(fence), moduleOf(fence, kind.frame));
      if (kind.does === 'types') writeFileSync(pathOf(fence), moduleOf(fence, ''));
    }
  }
  const tsconfig = {
    extends: '../../../tsconfig.json',
    compilerOptions: { noEmit: true, rootDir: '../../..', noUnusedLocals: false, noUnusedParameters: false },
    include: ['*.ts'],
  };
  writeFileSync(`${ROOT}${FOLDER}/tsconfig.json`, JSON.stringify(tsconfig));
  // Beside the runs below, in a process of its own.
  typeCheck = promisify(execFile)('node', ['node_modules/typescript/bin/tsc', '-p', FOLDER], { cwd: ROOT }).then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout: string }) => stdout,
  );
});

afterAll(async () => {
  await redis.quit();
  await server.stop();
  await typeCheck;
  rmSync(`${ROOT}${FOLDER}`, { recursive: true, force: true });
});

describe.each(BLOCKS)('$page', ({ blocks }) => {
  const state = new PageState(() => redis);
  afterAll(() => state.close());

  it.each(blocks)(
    'line $fence.line: $fence.lang $fence.meta',
    ({ fence, kind }) => expectBlock(state, fence, kind),
    30_000,
  );
});

it('every snippet has the right types', async () => expect(await typeCheck).toBe(''), TYPE_CHECK_MS);
