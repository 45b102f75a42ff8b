import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireProgram } from '../../../tools/programs.js';
import { RedisServer } from '../redis-server.js';

/** A real server whose clock the test sets while it runs. The server's own timers and time limits keep the machine's clock. */
export class ClockedRedis implements AsyncDisposable {
  private constructor(
    readonly server: RedisServer,
    private readonly folder: string,
  ) {}

  /** @param args further command line arguments of the server */
  static async start(args: readonly string[] = []): Promise<ClockedRedis> {
    const faketime = requireProgram('libfaketime');
    const folder = mkdtempSync(join(tmpdir(), 'floodgate-clock-'));
    const env = {
      // The C library follows, so that its malloc comes before jemalloc's: jemalloc reads the clock before libfaketime is ready.
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

  /** Sets the server's clock ahead of the machine's, or behind it for a negative number. */
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
