import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { useRedis } from '../support/redis-fixture.js';
import { CODE_MUTATIONS } from './mutated/mutations.js';

const REPLAY = fileURLToPath(new URL('mutated/replay.ts', import.meta.url));
const LOADER = new URL('../support/typescript-loader.js', import.meta.url).href;

const redis = useRedis();

it.each(CODE_MUTATIONS.map((mutation, i) => [mutation.title, i] as const))(
  'the traces find it where %s',
  async (_, i) => {
    const args = ['--import', LOADER, '--disable-warning=ExperimentalWarning', REPLAY, redis.server.url, String(i)];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(JSON.parse(stdout)).toContainEqual(expect.stringContaining('The code decides: '));
  },
  60_000,
);
