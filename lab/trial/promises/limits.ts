import { clock } from '../run/asked.js';
import type { Asked, Broken } from '../run/asked.js';
import { excess, most } from '../run/judge.js';
import type { Pod } from '../run/pod.js';
import { burst, type Stage, until } from '../run/stage.js';
import { type Attempts, unless } from './attempt.js';

const ATTEMPTS = 2;
const OFTEN_MS = 15;

/** Asks a fresh key many times at once. It admits the limit at most: all of it lies in one window, unless the machine is slow. */
export async function flood(
  stage: Stage,
  pods: readonly Pod[],
  limit: number,
  times: number,
  cost = 1,
): Promise<Broken | undefined> {
  const { adapter, windowMs } = stage;
  const end = await stage.withinWindow();
  const history = await burst(pods, stage.key(), times, cost);
  const allowed = (length: number, at: number): number =>
    most(adapter.definition !== 'bucket' && at < end ? 'log' : adapter.definition, { limit, windowMs }, length);
  return excess(history, allowed, `${times} requests at once pass a limit of ${limit}`);
}

/** From few requests to many: what is found first is short. */
async function floods(stage: Stage, processes: number): Promise<Broken | undefined> {
  for (const [limit, times] of [
    [1, 4],
    [1, 64],
    [5, 64],
  ] as const) {
    const pods = await stage.open(processes, limit);
    for (let i = 0; i < ATTEMPTS; i++) {
      const broken = await flood(stage, pods, limit, times);
      if (broken) return broken;
    }
  }
  return undefined;
}

/** Asks one key for three windows, more often than it may pass. */
async function load(stage: Stage): Promise<Broken | undefined> {
  const { windowMs } = stage;
  const [pod] = await stage.open(1, 5);
  const key = stage.key();
  const end = clock() + 3 * windowMs;
  const history: Asked[] = [];
  for (let next = clock(); next < end; next += OFTEN_MS) {
    await until(next);
    history.push(...(await pod!.ask(key)));
  }
  const allowed = (length: number): number => most(stage.adapter.definition, { limit: 5, windowMs }, length);
  return excess(history, allowed, 'requests of three windows pass a limit of 5');
}

/** A limiter that rejects all keeps every limit. */
async function admitsItsLimit(stage: Stage): Promise<Broken | undefined> {
  const [pod] = await stage.open(1, 5);
  const key = stage.key();
  const history: Asked[] = [];
  for (let i = 0; i < 5; i++) history.push(...(await pod!.ask(key)));
  const why = 'one of the first 5 requests does not pass a limit of 5';
  return unless(history, 'allowed', why) && { why, history };
}

/** Asks just before the edge of a window, and just after it. */
async function edge(stage: Stage): Promise<Broken | undefined> {
  const { adapter, windowMs } = stage;
  const [pod] = await stage.open(1, 5);
  const key = stage.key();
  // It begins with a window that is aligned to the clock, and so does a window that the first request begins.
  await until(await stage.withinWindow(0));
  const began = clock();
  const first = await pod!.ask(key);
  await until(began + 0.8 * windowMs);
  const late = await pod!.ask(key, 1, 4);
  await until(first[0]!.answered + windowMs + 20);
  const next = await pod!.ask(key, 1, 5);
  const allowed = (length: number): number => most('log', { limit: 5, windowMs }, length);
  const byDefinition = adapter.definition === 'log' ? '' : `, by definition of a ${adapter.definition}`;
  const why = `more than 5 pass around the edge of a window${byDefinition}`;
  return excess([...first, ...late, ...next], allowed, why);
}

export const LIMITS = {
  limit: async (stage) => (await admitsItsLimit(stage)) ?? (await floods(stage, 1)) ?? (await load(stage)),
  shared: (stage) => floods(stage, 4),
  interval: async (stage) => {
    for (let i = 0; i < ATTEMPTS; i++) {
      const broken = await edge(stage);
      if (broken) return broken;
    }
    return undefined;
  },
  cost: async (stage) => {
    const [pod] = await stage.open(1, 10);
    const key = stage.key();
    await stage.withinWindow();
    const first = await burst([pod!], key, 3, 3);
    const why = '3 requests of cost 3 do not pass a limit of 10';
    if (unless(first, 'allowed', why)) return { why, history: first };
    return flood(stage, [pod!], 10, 16, 3);
  },
} as const satisfies Attempts;
