import { execFileSync } from 'node:child_process';
import dns from 'node:dns';
import { closeSync, constants, mkdtempSync, open, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Lookup = typeof dns.lookup;
type Callback = (error: Error | null, ...found: unknown[]) => void;

/**
 * Replaces `dns.lookup` of this process for names that end in `.test`: they resolve to 127.0.0.1. The test sets the duration of a
 * lookup. A lookup occupies a thread of libuv, as `getaddrinfo` does, so lookups that hang also delay file reads.
 */
export class Lookups implements Disposable {
  /** The number of lookups that have begun. */
  begun = 0;
  /** The number of lookups under way, and its maximum. */
  inFlight = 0;
  mostInFlight = 0;
  private readonly original: Lookup = dns.lookup;
  private readonly folder = mkdtempSync(join(tmpdir(), 'floodgate-lookup-'));
  private readonly pipe = join(this.folder, 'pipe');
  private hangs = false;

  /** @param slowMs the milliseconds of each lookup */
  constructor(private slowMs = 0) {
    execFileSync('mkfifo', [this.pipe]);
    dns.lookup = ((name: string, options: unknown, callback: Callback) =>
      name.endsWith('.test')
        ? this.look(options, callback)
        : this.original(name, options as dns.LookupOptions, callback as never)) as Lookup;
  }

  /** From now on lookups do not return. */
  hang(): void {
    this.hangs = true;
  }

  /** Ends the hanging lookups, and lets new ones return. */
  release(): void {
    this.hangs = false;
    // The readers' `open` of the pipe returns once a writer opens it.
    closeSync(openSync(this.pipe, constants.O_RDWR));
  }

  [Symbol.dispose](): void {
    this.release();
    dns.lookup = this.original;
    rmSync(this.folder, { recursive: true });
  }

  private look(options: unknown, callback: Callback): void {
    this.begun++;
    this.mostInFlight = Math.max(this.mostInFlight, ++this.inFlight);
    const answer = (): void => {
      this.inFlight--;
      this.original('127.0.0.1', options as dns.LookupOptions, callback as never);
    };
    if (!this.hangs) setTimeout(answer, this.slowMs);
    else {
      open(this.pipe, 'r', (error, fd) => {
        if (error === null) closeSync(fd);
        answer();
      });
    }
  }
}
