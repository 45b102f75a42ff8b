import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
// Not the global: a test's fake timers must not stop these.
import { setTimeout as delay } from 'node:timers/promises';
import { requireProgram } from './programs.js';

const HOST = '127.0.0.1';
const START_LIMIT_MS = 10_000;
const STOP_LIMIT_MS = 2_000;
const POLL_MS = 5;
const PORT_ATTEMPTS = 20;

// Below the ephemeral range of Linux and macOS, so that no outgoing connection takes the port while a server restarts.
const FIRST_PORT = 20_000;
const PORT_COUNT = 12_000;

export interface RedisServerOptions {
  /** Further command line arguments, such as `['--maxmemory', '2mb']`, or a function of the port that gives them. */
  args?: readonly string[] | ((port: number) => readonly string[]);
  /** Starts a Sentinel, which monitors no master at first. */
  sentinel?: boolean;
  /** Writes every change to disk at once, and loads it again after `restart()`, also after a crash. */
  keepsData?: boolean;
  /** Further environment variables. */
  env?: Readonly<Record<string, string>>;
  /** Default: a free port. */
  port?: number;
}

/** A process that was started, and its directory. */
export interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly directory: string;
}

class PortTakenError extends Error {}

/** A real server process on the loopback interface, which keeps nothing on disk unless it is told to: every start is an empty server. */
export class RedisServer implements AsyncDisposable {
  readonly host = HOST;
  private running: Running | undefined;
  /** The directory of a server that keeps its data. It exists while the server does not run, too. */
  private kept: string | undefined;

  private constructor(
    readonly port: number,
    private readonly options: RedisServerOptions,
  ) {}

  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    for (let attempt = 1; ; attempt++) {
      const server = new RedisServer(options.port ?? randomPort(), options);
      try {
        await server.launch();
        return server;
      } catch (error) {
        const retry = error instanceof PortTakenError && options.port === undefined && attempt < PORT_ATTEMPTS;
        if (!retry) throw error;
      }
    }
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  get pid(): number {
    return this.requireRunning().pid;
  }

  get isRunning(): boolean {
    return this.running !== undefined && !hasExited(this.running.child);
  }

  /** Connections stay open and new ones are accepted by the kernel, but nothing is answered until `resume()`. */
  pause(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  /** Ends the process as an operator does, and removes its data. Does nothing when it has ended already. */
  async stop(): Promise<void> {
    await this.end('SIGTERM');
    this.forget();
  }

  /** Ends the process as a crash does. `restart()` brings it back. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** Starts again on the same port, also after `stop()` or `kill()`. The data survives with `keepsData` only. */
  async restart(): Promise<void> {
    await this.end('SIGTERM');
    await this.launch();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  private requireRunning(): Running {
    const { running } = this;
    if (!running || hasExited(running.child)) throw new Error(`No Redis process runs on port ${this.port}`);
    return running;
  }

  private async launch(): Promise<void> {
    const { args = [], env, keepsData } = this.options;
    const directory = this.kept ?? mkdtempSync(join(tmpdir(), 'floodgate-redis-'));
    if (keepsData === true) this.kept = directory;
    const logFile = join(directory, 'redis.log');
    const given = typeof args === 'function' ? args(this.port) : args;
    try {
      const child = spawnServer(this.port, [...this.modeArgs(directory), ...given], { directory, logFile, env });
      await once(child, 'spawn');
      this.running = { child, pid: child.pid ?? NaN, directory };
      killWithThisProcess(this.running);
      await untilReady(child, this.port, logFile);
    } catch (error) {
      await this.kill();
      this.forget();
      rmSync(directory, { recursive: true, force: true });
      throw error;
    }
  }

  /** A Sentinel insists on a file to write its state to, which must be the first argument. */
  private modeArgs(directory: string): string[] {
    const { sentinel, keepsData } = this.options;
    if (sentinel !== true) return ['--save', '', '--appendonly', keepsData === true ? 'yes' : 'no'];
    const configuration = join(directory, 'sentinel.conf');
    writeFileSync(configuration, '');
    return [configuration, '--sentinel'];
  }

  private async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const { running } = this;
    if (!running) return;
    const { child, directory } = running;
    child.kill(signal);
    child.kill('SIGCONT'); // A paused process would not handle SIGTERM.
    if (!(await exitsWithin(child, STOP_LIMIT_MS))) {
      child.kill('SIGKILL');
      if (!(await exitsWithin(child, STOP_LIMIT_MS))) throw new Error(`Process ${running.pid} survived SIGKILL`);
    }
    if (directory !== this.kept) rmSync(directory, { recursive: true, force: true });
    this.running = undefined;
  }

  private forget(): void {
    if (this.kept !== undefined) rmSync(this.kept, { recursive: true, force: true });
    this.kept = undefined;
  }
}

/** A port that is probably free. The caller must be ready to try another one. */
export function randomPort(): number {
  return FIRST_PORT + Math.floor(Math.random() * PORT_COUNT);
}

interface Surroundings {
  readonly directory: string;
  readonly logFile: string;
  readonly env: Readonly<Record<string, string>> | undefined;
}

function spawnServer(port: number, args: readonly string[], { directory, logFile, env }: Surroundings): ChildProcess {
  // Last, so that `args` cannot undo what this class relies on.
  const fixed = ['--bind', HOST, '--port', `${port}`, '--dir', directory, '--loglevel', 'notice', '--daemonize', 'no'];
  // A file rather than a pipe: it needs no reader and does not keep this process alive.
  const log = openSync(logFile, 'w');
  try {
    const child = spawn(requireProgram('redis-server'), [...args, ...fixed], {
      stdio: ['ignore', log, log],
      env: { ...process.env, ...env },
    });
    child.unref();
    return child;
  } finally {
    closeSync(log);
  }
}

/**
 * Ends a process, a server say, when this process ends in any way, SIGKILL included: the shell's stdin is a pipe that only this
 * process holds, so `read` returns then. An exit handler would not do, and in Jest's sandbox it would never be called.
 */
export function killWithThisProcess({ child, pid, directory }: Running): void {
  const script = 'read -r _; kill -KILL "$1" 2>/dev/null; rm -rf -- "$2"';
  const watchdog = spawn('sh', ['-c', script, 'sh', `${pid}`, directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // Ctrl-C in the terminal must not end the watchdog first.
  });
  watchdog.unref();
  const dismiss = (): void => void watchdog.kill('SIGKILL');
  // The pid may become another process's once the server has ended.
  if (hasExited(child)) dismiss();
  else child.once('exit', dismiss);
}

/**
 * The log tells that this very process listens, which an answer on the port does not: after losing a race for the port
 * it would be another server's.
 */
async function untilReady(child: ChildProcess, port: number, logFile: string): Promise<void> {
  const limit = AbortSignal.timeout(START_LIMIT_MS);
  const log = (): string => readFileSync(logFile, 'utf8');
  while (!/Ready to accept connections|Sentinel ID is/.test(log())) {
    if (hasExited(child)) {
      const message = `Redis did not start on port ${port}:\n${log()}`;
      throw log().includes('Address already in use') ? new PortTakenError(message) : new Error(message);
    }
    if (limit.aborted) throw new Error(`Redis was not ready on port ${port} in ${START_LIMIT_MS} ms:\n${log()}`);
    await delay(POLL_MS);
  }
  await ping(port, limit);
}

async function ping(port: number, limit: AbortSignal): Promise<void> {
  const socket = connect(port, HOST);
  try {
    socket.write('PING\r\n');
    await once(socket, 'data', { signal: limit }); // Any answer will do: with a password it is an error.
  } finally {
    socket.destroy();
  }
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function exitsWithin(child: ChildProcess, limitMs: number): Promise<boolean> {
  if (hasExited(child)) return true;
  const timer = new AbortController();
  try {
    const exited = once(child, 'exit').then(() => true);
    return await Promise.race([exited, delay(limitMs, false, { signal: timer.signal })]);
  } finally {
    timer.abort();
  }
}
