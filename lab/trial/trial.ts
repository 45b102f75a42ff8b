import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Contestant } from './contestants.js';
import { PROMISES } from './promises/promises.js';
import type { PromiseName } from './promises/titles.js';
import type { Broken } from './run/asked.js';
import { Stage } from './run/stage.js';

/** How a limiter has kept a promise. */
export interface Verdict {
  readonly promise: PromiseName;
  /** `not offered`: nothing in its documentation promises it. */
  readonly verdict: 'kept' | 'broken' | 'not offered';
  /** The words of its documentation. */
  readonly offered?: string | undefined;
  /** What was seen of a promise that is not offered, where it can be tried: `held`, or what shows that it does not hold. */
  readonly seen?: 'held' | undefined;
  readonly why?: string | undefined;
  /** The shortest history that was found. The instants are milliseconds since its first request. */
  readonly history?: readonly HistoryLine[] | undefined;
}

export interface HistoryLine {
  readonly at: number;
  /** Milliseconds until the answer. */
  readonly took: number;
  readonly process: string;
  readonly client: string;
  readonly cost: number;
  /** `allowed`, `rejected`, `rejected, retry after 12 ms`, `no answer`, or an error. */
  readonly answer: string;
}

/** What one limiter has shown. */
export interface Tried {
  readonly name: string;
  readonly definition: string;
  readonly note?: string | undefined;
  readonly versions: Readonly<Record<string, string>>;
  readonly verdicts: readonly Verdict[];
}

/** The results of a run. */
export interface Results {
  readonly date: string;
  readonly node: string;
  readonly limiters: readonly Tried[];
}

/** Tries the promises of a limiter one after the other, on a Redis of its own. */
export async function tryOut(
  { adapter, url }: Contestant,
  names: readonly PromiseName[],
  say: (line: string) => void = () => undefined,
): Promise<Tried> {
  await using stage = await Stage.open(adapter, url);
  const verdicts: Verdict[] = [];
  for (const promise of names) {
    const offered = adapter.offers[promise];
    if (offered === undefined && adapter.lacks?.includes(promise)) {
      verdicts.push({ promise, verdict: 'not offered' });
      continue;
    }
    const broken = await PROMISES[promise](stage);
    verdicts.push({ promise, ...verdictOf(offered, broken) });
    say(`${adapter.name}: ${promise} ${broken === undefined ? 'holds' : `does not hold: ${broken.why}`}`);
  }
  const versions = adapter.packages.map((name) => [name, versionOf(name, fileURLToPath(url))]);
  const server = /^(redis|valkey)_version:(\S+)/m.exec(await stage.redis.info('server'));
  const all = Object.fromEntries([...versions, [server![1], server![2]]]) as Tried['versions'];
  const { name, definition, note } = adapter;
  return { name, definition, note, versions: all, verdicts };
}

export function resultsOf(tried: readonly Tried[]): Results {
  return { date: new Date().toISOString().slice(0, 10), node: process.version, limiters: tried };
}

function verdictOf(offered: string | undefined, broken: Broken | undefined): Omit<Verdict, 'promise'> {
  const shown = broken && { why: broken.why, history: linesOf(broken) };
  if (offered === undefined) return { verdict: 'not offered', seen: broken ? undefined : 'held', ...shown };
  return { verdict: broken ? 'broken' : 'kept', offered, ...shown };
}

function linesOf({ history }: Broken): HistoryLine[] {
  const began = Math.min(...history.map(({ sent }) => sent));
  return history
    .toSorted((one, other) => one.sent - other.sent)
    .map(({ sent, answered, process: name, key, cost, answer, retryAfterMs, error }) => {
      const after = answer === 'allowed' || retryAfterMs === undefined ? '' : `, retry after ${retryAfterMs} ms`;
      const said = answer === 'none' ? `no answer${error ? ` (${error})` : ''}` : (error ?? `${answer}${after}`);
      return {
        at: tenths(sent - began),
        took: tenths(answered - sent),
        process: name,
        client: key,
        cost,
        answer: said,
      };
    });
}

function tenths(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}

/** The version of a package as the adapter finds it. */
function versionOf(name: string, from: string): string {
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    const file = join(folder, 'node_modules', name, 'package.json');
    if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
    if (folder === dirname(folder)) return 'unknown';
  }
}
