import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { end, Log, start } from './command.js';
import type { Installed } from './managers.js';

const START_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 10_000;

/** A process of a built application. */
export interface Application {
  readonly url: string;
  /** The library's subpath entries that it has used, as it prints them. */
  readonly entries: string;
  /**
   * Asks it to end.
   *
   * @throws {Error} when it does not
   */
  stop(): Promise<void>;
  /** Ends it at once. Does nothing when it has ended. */
  kill(): void;
}

interface StartOptions {
  /** What `node` runs. */
  readonly entry: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly log: Log;
}

/** @throws {Error} with its output when it ends, or is not ready after a minute */
export async function startApplication(
  { nodeFolder, node }: Installed,
  { entry, ...options }: StartOptions,
): Promise<Application> {
  options.log.add(`\n$ node ${basename(entry)}\n`);
  const own = new Log();
  const child = start([...node, entry], { ...options, nodeFolder });
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (text: string) => own.add(text));
  const ended = new Promise<void>((resolve) => void child.once('close', () => resolve()));
  const ready = new Promise<string>((resolve, reject) => {
    child.stdout!.on('data', () => {
      const [, found] = /^listening (\S+)\n/m.exec(own.text) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.once('error', reject);
    void ended.then(() => reject(new Error(`The application ended:\n${own.tail}`)));
  });
  const late = new AbortController();
  const limit = async (ms: number, what: string): Promise<never> => {
    await delay(ms, undefined, { signal: late.signal });
    throw new Error(`The application ${what} in ${ms / 1000} s:\n${own.tail}`);
  };
  const kill = (): void => end(child);
  try {
    const url = await Promise.race([ready, limit(START_LIMIT_MS, 'was not ready')]);
    return {
      url,
      entries: /^entries ?(.*)$/m.exec(own.text)?.[1] ?? '',
      stop: async () => {
        end(child, 'SIGTERM');
        const abort = new AbortController();
        const overdue = delay(STOP_LIMIT_MS, true, { signal: abort.signal });
        const stuck = await Promise.race([overdue, ended]);
        abort.abort();
        if (stuck === true) throw new Error(`The application did not end in ${STOP_LIMIT_MS / 1000} s`);
        if (child.exitCode !== 0 && child.signalCode !== 'SIGTERM') {
          throw new Error(`The application ended with ${child.exitCode ?? child.signalCode}:\n${own.tail}`);
        }
      },
      kill,
    };
  } catch (error) {
    kill();
    throw error;
  } finally {
    late.abort();
  }
}
