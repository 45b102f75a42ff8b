import { execFileSync } from 'node:child_process';
import dns from 'node:dns';
import { closeSync, constants, mkdtempSync, open, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Lookup = typeof dns.lookup;
type Callback = (error: Error | null, ...found: unknown[]) => void;

/**
 * Replaces `dns.lookup` of this process for names that end in `.test`: they mean 127.0.0.1. A lookup takes as long as the test
 * says, on a thread of libuv, as `getaddrinfo` does: so those that hang keep others from reading files.
 */
export class Lookups implements Disposable {
  /** How many have begun. */
  begun = 0;
  /** How many are under way, and how many at most were at a time. */
  inFlight = 0;
  mostInFlight = 0;
  private readonly original: Lookup = dns.lookup;
  private readonly folder = mkdtempSync(join(tmpdir(), 'floodgate-lookup-'));
  private readonly pipe = join(this.folder, 'pipe');
  private hangs = false;

  /** @param slowMs milliseconds that each one takes */
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

  /** Lets those that hang return, and others pass. */
  release(): void {
    this.hangs = false;
    // A writer is what those who open the pipe to read it wait for.
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
