import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireProgram } from '../../tools/programs.js';
import { killWithThisProcess } from '../../tools/redis-server.js';
import { until } from './faults/until.js';

const START_LIMIT_MS = 10_000;

/** A real NATS server on the loopback interface, on a port that it chooses. */
export class NatsServer implements AsyncDisposable {
  private constructor(
    private readonly child: ChildProcess,
    private readonly directory: string,
    readonly url: string,
  ) {}

  static async start(): Promise<NatsServer> {
    const directory = mkdtempSync(join(tmpdir(), 'floodgate-nats-'));
    const args = ['--addr', '127.0.0.1', '--port', '-1', '--ports_file_dir', directory];
    const child = spawn(requireProgram('nats-server'), args, { stdio: 'ignore' });
    await once(child, 'spawn');
    killWithThisProcess({ child, pid: child.pid!, directory });
    const url = await until('the NATS server listens', START_LIMIT_MS, () => portsIn(directory)?.nats[0]);
    return new NatsServer(child, directory, url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await ended;
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** What the server has written once it listens. */
function portsIn(directory: string): { readonly nats: readonly string[] } | undefined {
  const [file] = readdirSync(directory).filter((name) => name.endsWith('.ports'));
  return file === undefined
    ? undefined
    : (JSON.parse(readFileSync(join(directory, file), 'utf8')) as { nats: readonly string[] });
}
