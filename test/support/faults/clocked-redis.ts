import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { install } from '../../../tools/ensure-redis.js';
import { RedisServer } from '../redis-server.js';

const FOLDERS = ['/usr/lib', '/usr/lib64', '/usr/local/lib'];
const LIBRARY = join('faketime', 'libfaketime.so.1');

/**
 * Path of the library that shows a process another time: Debian's package libfaketime, which is installed where that can be
 * done.
 *
 * @throws {Error} that says how to get it
 */
export function ensureFaketime(): string {
  if (findFaketime() === undefined) install('libfaketime');
  const path = findFaketime();
  if (path === undefined) throw new Error('The tests that set clocks need libfaketime: apt install libfaketime');
  return path;
}

/** On Debian below the folder of the architecture. */
function findFaketime(): string | undefined {
  for (const folder of FOLDERS) {
    for (const below of ['', ...namesIn(folder)]) {
      if (namesIn(join(folder, below, 'faketime')).length > 0) return join(folder, below, LIBRARY);
    }
  }
  return undefined;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** A real server whose clock the test sets while it runs; timers and time limits of its own go on by the machine's. */
export class ClockedRedis implements AsyncDisposable {
  private constructor(
    readonly server: RedisServer,
    private readonly folder: string,
  ) {}

  /** @param args further command line arguments of the server */
  static async start(args: readonly string[] = []): Promise<ClockedRedis> {
    const faketime = ensureFaketime();
    const folder = mkdtempSync(join(tmpdir(), 'floodgate-clock-'));
    const env = {
      // Behind it the C library: its malloc is to be found before jemalloc's, which asks for the time before it works itself.
      LD_PRELOAD: `${faketime} libc.so.6`,
      FAKETIME_TIMESTAMP_FILE: join(folder, 'offset'),
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
    writeFileSync(join(folder, 'offset'), '+0');
    try {
      return new ClockedRedis(await RedisServer.start({ args, env }), folder);
    } catch (error) {
      rmSync(folder, { recursive: true });
      throw error;
    }
  }

  /** How far its clock is ahead of the machine's, from now on; negative: behind. */
  setAhead(ms: number): void {
    const next = join(this.folder, 'next');
    writeFileSync(next, `${ms < 0 ? '' : '+'}${(ms / 1000).toFixed(6)}`);
    renameSync(next, join(this.folder, 'offset'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop();
    rmSync(this.folder, { recursive: true });
  }
}
