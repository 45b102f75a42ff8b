import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const REPOSITORY = fileURLToPath(new URL('../../', import.meta.url));
const LIMIT_MS = 300_000;
const TAIL_LINES = 40;

export interface CommandOptions {
  readonly cwd: string;
  /** The folder of the `node` that runs it, and all that it starts. Default: this process's. */
  readonly nodeFolder?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Collects the output. */
  readonly log?: Log;
}

/** The output of all commands of a row. */
export class Log {
  text = '';

  add(text: string): void {
    this.text += text;
  }

  /** The last lines, for a failure. */
  get tail(): string {
    return this.text.trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
  }
}

/**
 * Runs a command to its end.
 *
 * @returns its standard output
 * @throws {Error} with the command and the end of its output when it fails or does not end in five minutes
 */
export async function run(command: readonly string[], options: CommandOptions): Promise<string> {
  const own = new Log();
  const title = command.map((word) => (word.startsWith('/') ? word.replace(/^.*\//, '') : word)).join(' ');
  options.log?.add(`\n$ ${title}\n`);
  const child = start(command, options);
  let out = '';
  child.stdout!.on('data', (text: string) => (out += text));
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (text: string) => own.add(text));
  const timer = setTimeout(() => {
    own.add(`\nIt did not end in ${LIMIT_MS / 1000} s.\n`);
    end(child);
  }, LIMIT_MS);
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`${title} failed (${code ?? 'killed'}):\n${own.tail}`);
    return out;
  } finally {
    clearTimeout(timer);
  }
}

/** Starts a command in a process group of its own, with this machine's environment but nothing of this repository. */
export function start(command: readonly string[], { cwd, nodeFolder, env, log }: CommandOptions): ChildProcess {
  const [program, ...args] = command as [string, ...string[]];
  const child = spawn(program, args, {
    cwd,
    env: { ...outsideEnvironment(nodeFolder ?? dirname(process.execPath)), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  running.add(child);
  child.once('close', () => running.delete(child));
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    if (log) stream.on('data', (text: string) => log.add(text));
  }
  return child;
}

const running = new Set<ChildProcess>();

/** Ends a child and all that it started. */
export function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    child.kill(signal);
  }
}

/** Ends what still runs when this process has to end. */
export function endAll(): void {
  for (const child of running) end(child);
}

/** `npm run` adds settings, and the programs of this repository, that a fresh application does not have. */
function outsideEnvironment(nodeFolder: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(?:npm_(?!config_(?:registry|cache)$)|NODE_OPTIONS$|NODE_PATH$|NODE_ENV$|INIT_CWD$)/i.test(name),
  );
  const path = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => !folder.startsWith(REPOSITORY) && !folder.includes(join('node_modules', '.bin')));
  return { ...Object.fromEntries(kept), PATH: [nodeFolder, ...path].join(delimiter) };
}
