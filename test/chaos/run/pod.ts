import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { now, type Span } from '../clock.js';
import type { Order, PodSettings } from '../pod/main.js';

const SCRIPT = fileURLToPath(new URL('../pod/main.ts', import.meta.url));
const TYPESCRIPT = new URL('../../support/typescript-loader.js', import.meta.url).href;
/** The time after which a start counts as hung. A start takes long on a busy machine. */
const BOOT_LIMIT_MS = 120_000;
const STOP_LIMIT_MS = 30_000;
const MAX_OUTPUT = 10_000;

/** One process of the application, from its start to its end. */
interface Life {
  readonly child: ChildProcess;
  readonly history: string;
  readonly name: string;
  ended: boolean;
}

export interface PodOfRun {
  readonly index: number;
  readonly platform: PodSettings['platform'];
  readonly redisPort: number;
  readonly client: PodSettings['client'];
  readonly folder: string;
  readonly seed: number;
}

/** A pod of the application. It runs one process after the other. */
export class Pod {
  port = 0;
  /** The histories of its processes. */
  readonly histories: { readonly name: string; readonly path: string }[] = [];
  /** The times from the signal that ends a process until the next one serves. */
  readonly away: Span[] = [];
  /** Processes that ended by themselves, or that did not end in time. */
  readonly wrong: { readonly at: number; readonly text: string }[] = [];
  private life: Life | undefined;
  private awaySince: number | undefined;
  private restarting: Promise<void> = Promise.resolve();

  constructor(private readonly options: PodOfRun) {}

  get index(): number {
    return this.options.index;
  }

  get serves(): boolean {
    return this.life !== undefined && this.awaySince === undefined;
  }

  /** Ends the process and starts another one, `times` times in a row. */
  async restart(times: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const before = this.restarting;
    this.restarting = (async () => {
      await before;
      for (let i = 0; i < times; i++) {
        await this.stop(signal);
        await this.start();
      }
    })();
    await this.restarting;
  }

  async start(): Promise<void> {
    const { index, platform, redisPort, client, folder, seed } = this.options;
    const number = this.histories.length;
    const name = `pod-${index}-${number}`;
    const history = join(folder, `${name}.jsonl`);
    const settings: PodSettings = { name, platform, redisPort, client, history, seed: seed + number };
    const child = fork(SCRIPT, {
      execArgv: [
        '--import',
        TYPESCRIPT,
        '--enable-source-maps',
        '--expose-gc',
        '--disable-warning=ExperimentalWarning',
      ],
      // What a killed process leaves behind goes with the folder of the run.
      env: { ...process.env, CHAOS_POD: JSON.stringify(settings), NO_COLOR: '1', TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const life: Life = { child, history, name, ended: false };
    this.life = life;
    this.histories.push({ name, path: history });
    let output = '';
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-MAX_OUTPUT)));
    }
    child.on('error', () => undefined);
    child.once('close', (code, signal) => {
      if (!life.ended) this.report(`${name} ended by itself (${code ?? signal}): ${output.trim()}`);
      else if (output.trim() !== '') this.report(`${name} wrote: ${output.trim()}`);
    });
    const port = await portOf(child);
    if (port === undefined) {
      this.report(`${name} does not serve within ${BOOT_LIMIT_MS} ms`);
      await this.stop('SIGKILL');
      return;
    }
    this.port = port;
    if (this.awaySince !== undefined) this.away.push({ from: this.awaySince, to: now() });
    this.awaySince = undefined;
  }

  tell(order: Order): void {
    const { child } = this.life!;
    if (child.connected) child.send(order, () => undefined);
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.life!.child.kill(signal);
  }

  /** Ends the process, as Kubernetes or as a crash does. */
  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const life = this.life!;
    const { child } = life;
    this.awaySince ??= now();
    life.ended = true;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill(signal);
    const timer = setTimeout(() => {
      this.report(`${life.name} did not end within ${STOP_LIMIT_MS} ms of ${signal}`);
      child.kill('SIGKILL');
    }, STOP_LIMIT_MS);
    const [code, by] = (await exit) as [number | null, string | null];
    clearTimeout(timer);
    if (signal === 'SIGTERM' && by !== 'SIGTERM' && code !== 0) {
      this.report(`${life.name} ended by ${code ?? by} after SIGTERM`);
    }
  }

  private report(text: string): void {
    this.wrong.push({ at: now(), text });
  }
}

/** Waits for the ready message of a process. Returns undefined when it does not serve. */
async function portOf(child: ChildProcess): Promise<number | undefined> {
  const limit = new AbortController();
  const { signal } = limit;
  const timer = setTimeout(() => limit.abort(), BOOT_LIMIT_MS);
  child.once('close', () => limit.abort());
  try {
    const [{ port }] = (await once(child, 'message', { signal })) as [{ port: number }];
    return port;
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
