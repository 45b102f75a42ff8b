import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { findProgram } from '../../tools/programs.js';
import { RedisServer } from '../../tools/redis-server.js';

/**
 * The Redis of the page's own, on a free port of the loopback interface: the worlds and the pods count in it. It keeps nothing on
 * disk, and starts on first use.
 *
 * It ends with this process, whatever ends that: `RedisServer` gives it a watchdog, which ends it even after a SIGKILL.
 */
@Injectable()
export class StageRedis implements OnModuleDestroy {
  private readonly logger = new Logger('ControlRoom');
  private server: RedisServer | undefined;
  private starting: Promise<string | undefined> | undefined;
  private why: string | undefined;
  /** Changes of the server, one after the other: two viewers may press at once. */
  private last: Promise<unknown> = Promise.resolve();
  private closed = false;

  /** `none`: it has not started, or cannot. `down`: also when something else has ended the process. */
  get state(): 'none' | 'up' | 'down' {
    if (this.server === undefined) return 'none';
    return this.server.isRunning ? 'up' : 'down';
  }

  /** Why `url` resolved with undefined. */
  get problem(): string | undefined {
    return this.why;
  }

  /** Starts the server on first use. Undefined where that is impossible: `problem` says why. */
  url(): Promise<string | undefined> {
    this.starting ??= this.start();
    return this.starting;
  }

  /** Ends the process as a crash does, with all that it holds. Does nothing where there is no server. */
  goAway(): Promise<void> {
    return this.next(async () => this.server?.kill());
  }

  /** Starts an empty server on the same port, unless one runs. */
  comeBack(): Promise<void> {
    return this.next(async () => {
      if (this.state === 'down' && !this.closed) await this.server!.restart();
    });
  }

  async onModuleDestroy(): Promise<void> {
    this.closed = true;
    await this.starting;
    await this.next(async () => this.server?.stop());
  }

  private async start(): Promise<string | undefined> {
    try {
      if (this.closed) this.why = 'this process is shutting down';
      else if (findProgram('redis-server') === undefined) this.why = 'no redis-server on this machine';
      else this.server = await RedisServer.start();
    } catch (error) {
      this.why = 'redis-server does not start on this machine';
      this.logger.warn(`The Redis of the control room does not start: ${(error as Error).message}`);
    }
    return this.server?.url;
  }

  private next(change: () => Promise<void>): Promise<void> {
    const changed = this.last.then(change);
    this.last = changed.catch(() => undefined);
    return changed;
  }
}
