import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { requireProgram } from '../../tools/programs.js';
import { killWithThisProcess, randomPort } from '../../tools/redis-server.js';

const HOST = '127.0.0.1';
const USER = 'floodgate';
const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 10_000;
const PORT_ATTEMPTS = 20;

class PortTakenError extends Error {}

/** A real PostgreSQL process on the loopback interface, with its data in a temporary directory. It asks for a password. */
export class PostgresServer {
  readonly password = 's3cret/pass';
  private child: ChildProcess | undefined;

  private constructor(
    private readonly directory: string,
    readonly port: number,
  ) {}

  static async start(): Promise<PostgresServer> {
    const directory = mkdtempSync(join(tmpdir(), 'floodgate-postgres-'));
    const { uid, gid } = account() ?? {};
    if (uid !== undefined) chownSync(directory, uid, gid!);
    for (let attempt = 1; ; attempt++) {
      const server = new PostgresServer(directory, randomPort());
      try {
        if (attempt === 1) await server.initialize();
        await server.launch();
        return server;
      } catch (error) {
        if (error instanceof PortTakenError && attempt < PORT_ATTEMPTS) continue;
        await server.stop();
        throw error;
      }
    }
  }

  get url(): string {
    return this.urlWith(this.password);
  }

  urlWith(password: string, database = 'postgres'): string {
    return `postgres://${USER}:${encodeURIComponent(password)}@${HOST}:${this.port}/${database}`;
  }

  /** Nothing is answered until `resume()`, on open connections and on new ones. */
  pause(): void {
    const { pid } = this.child!;
    // First the process that starts the others.
    process.kill(pid!, 'SIGSTOP');
    for (const child of childrenOf(pid!)) signal(child, 'SIGSTOP');
  }

  resume(): void {
    const pid = this.child?.pid;
    if (pid === undefined) return;
    for (const one of [...childrenOf(pid), pid]) signal(one, 'SIGCONT');
  }

  /** Ends the process as an operator does, and removes its data. */
  async stop(): Promise<void> {
    const { child } = this;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      this.resume();
      const exit = once(child, 'exit');
      child.kill('SIGINT'); // a "fast" shutdown: open connections are cut
      const kill = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
      await exit;
      clearTimeout(kill);
    }
    rmSync(this.directory, { recursive: true, force: true });
  }

  private get data(): string {
    return join(this.directory, 'data');
  }

  private async initialize(): Promise<void> {
    const password = join(this.directory, 'password');
    writeFileSync(password, this.password);
    const { uid, gid } = account() ?? {};
    if (uid !== undefined) chownSync(password, uid, gid!);
    const initdb = join(dirname(realpathSync(requireProgram('postgres'))), 'initdb');
    const login = [`--username=${USER}`, `--pwfile=${password}`, '--auth=scram-sha-256'];
    const args = [`--pgdata=${this.data}`, ...login, '--encoding=UTF8', '--no-sync'];
    await promisify(execFile)(initdb, args, { cwd: this.directory, uid, gid });
  }

  private async launch(): Promise<void> {
    const logFile = join(this.directory, 'log');
    const log = openSync(logFile, 'w');
    const settings = [
      `listen_addresses=${HOST}`,
      `port=${this.port}`,
      `unix_socket_directories=`,
      'fsync=off',
      'max_connections=50',
    ];
    const { uid, gid } = account() ?? {};
    const child = spawn(requireProgram('postgres'), ['-D', this.data, ...settings.flatMap((one) => ['-c', one])], {
      stdio: ['ignore', log, log],
      cwd: this.directory,
      uid,
      gid,
    });
    closeSync(log);
    await once(child, 'spawn');
    this.child = child;
    killWithThisProcess({ child, pid: child.pid!, directory: this.directory });
    await untilReady(child, logFile);
  }
}

async function untilReady(child: ChildProcess, logFile: string): Promise<void> {
  const limit = AbortSignal.timeout(START_LIMIT_MS);
  const log = (): string => readFileSync(logFile, 'utf8');
  while (!log().includes('database system is ready to accept connections')) {
    if (child.exitCode !== null || child.signalCode !== null) {
      const message = `PostgreSQL did not start:\n${log()}`;
      throw log().includes('Address already in use') ? new PortTakenError(message) : new Error(message);
    }
    if (limit.aborted) throw new Error(`PostgreSQL was not ready in ${START_LIMIT_MS} ms:\n${log()}`);
    await delay(10);
  }
}

/** PostgreSQL refuses to run as root: the user that its Debian package creates. */
function account(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith('postgres:'));
  if (line === undefined) throw new Error('root cannot run PostgreSQL, and there is no user named postgres');
  const [, , uid, gid] = line.split(':');
  return { uid: Number(uid), gid: Number(gid) };
}

/** The processes that a process has started. Each PostgreSQL process is a group of its own, so no signal reaches all of them. */
function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .map(Number);
}

/** A process may have ended since it was listed. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function parentOf(pid: string): number | undefined {
  try {
    // The name in parentheses may contain spaces.
    return Number(
      readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')[1],
    );
  } catch {
    return undefined;
  }
}
