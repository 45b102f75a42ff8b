import type { Asked, Broken } from '../run/asked.js';
import { burst, type Stage, until } from '../run/stage.js';
import { type Attempts, unless } from './attempt.js';

/** Timers and connections are no more exact. */
const TIMER_MS = 1;
const EARLY_MS = 5;
const ATTEMPTS = 2;
const HUGE = [1_000_000_000, Number.MAX_SAFE_INTEGER];

/** A rejection just before, and an admission at what the limiter has said to wait. */
async function retryAfter(stage: Stage): Promise<Broken | undefined> {
  const unit = stage.adapter.retryAfterUnitMs ?? 1;
  const [pod] = await stage.open(1, [{ limit: 1, windowMs: Math.max(stage.windowMs, 3 * unit) }]);
  for (let i = 0; i < ATTEMPTS; i++) {
    const [key, other] = [stage.key(), stage.key()];
    const history: Asked[] = [...(await burst([pod!], key, 2)), ...(await burst([pod!], other, 2))];
    const [rejected, early] = [key, other].map((one) =>
      history.find((asked) => asked.key === one && asked.answer === 'rejected'),
    );
    if (rejected?.retryAfterMs === undefined || early?.retryAfterMs === undefined) {
      return { why: 'a rejection has no retry-after', history };
    }
    await until(early.sent + early.retryAfterMs - unit - EARLY_MS);
    const before = await pod!.ask(other);
    await until(rejected.answered + rejected.retryAfterMs + TIMER_MS);
    const after = await pod!.ask(key);
    const ofKey = (one: string): Asked[] => [...history, ...before, ...after].filter((asked) => asked.key === one);
    if (after[0]!.answer !== 'allowed') return { why: 'rejected at its retry-after', history: ofKey(key) };
    const isEarly = before[0]!.answered < early.sent + early.retryAfterMs - unit;
    if (isEarly && before[0]!.answer === 'allowed') {
      return { why: 'allowed before its retry-after', history: ofKey(other) };
    }
  }
  return undefined;
}

/** Two clients use their limit, and one of them is rejected besides: both have it again at the same time. */
async function rejectedBesides(stage: Stage): Promise<Broken | undefined> {
  const { windowMs } = stage;
  const [pod] = await stage.open(1, 2);
  const [key, control] = [stage.key(), stage.key()];
  await stage.withinWindow();
  const history = [...(await burst([pod!], key, 2)), ...(await burst([pod!], control, 2))];
  const last = history.at(-1)!.answered;
  await until(last + 0.6 * windowMs);
  history.push(...(await pod!.ask(key)));
  await until(last + stage.freeAfterMs);
  const again = (await Promise.all([key, control].map((one) => pod!.ask(one)))).flat();
  if (again[0]!.answer === 'allowed' || again[1]!.answer !== 'allowed') return undefined;
  return { why: 'a client who was rejected waits longer than one who was not', history: [...history, ...again] };
}

/** A cost that does not fit leaves what is left. */
async function leavesTheRest(stage: Stage): Promise<Broken | undefined> {
  const [pod] = await stage.open(1, 5);
  const key = stage.key();
  await stage.withinWindow();
  const history = [await pod!.ask(key, 3), await pod!.ask(key, 5), await pod!.ask(key, 2)].flat();
  if (history[2]!.answer === 'allowed') return undefined;
  return { why: 'a rejected cost of 5 takes the 2 that are left of 5', history };
}

export const CHARGES = {
  rejected: async (stage) => {
    const takesCosts = stage.adapter.lacks?.includes('cost') !== true;
    return (takesCosts ? await leavesTheRest(stage) : undefined) ?? (await rejectedBesides(stage));
  },
  'retry-after': retryAfter,
  several: async (stage) => {
    const { windowMs } = stage;
    const [pod] = await stage.open(1, [
      // The small one last: a limiter that charges one after the other has charged the large one by then.
      { limit: 10, windowMs: 5 * windowMs },
      { limit: 2, windowMs },
    ]);
    const key = stage.key();
    const history: Asked[] = [];
    for (let i = 0; i < 12; i++) history.push(...(await pod!.ask(key)));
    await until(history.at(-1)!.answered + stage.freeAfterMs);
    history.push(...(await pod!.ask(key)));
    const passed = history.slice(0, -1).filter(({ answer }) => answer === 'allowed').length;
    // 10 of 10 may have passed on a machine that is slow enough.
    if (passed >= 10 || history.at(-1)!.answer === 'allowed') return undefined;
    return { why: 'what a limit of 2 has rejected is charged to the limit of 10 beside it', history };
  },
  'huge-cost': async (stage) => {
    const [pod] = await stage.open(1, 5);
    for (const cost of HUGE) {
      const key = stage.key();
      const history = await pod!.ask(key, cost);
      const { answer } = history[0]!;
      if (answer === 'allowed' || answer === 'none') return { why: 'a cost that never fits', history };
      history.push(...(await burst([pod!], key, 5)));
      const why = `after a rejected cost of ${cost}, the limit of 5 is not there`;
      if (unless(history.slice(1), 'allowed', why)) return { why, history };
    }
    return undefined;
  },
  'zero-cost': async (stage) => {
    const [pod] = await stage.open(1, 2);
    const key = stage.key();
    await stage.withinWindow();
    const free = await burst([pod!], key, 5, 0);
    const why = 'a cost of 0 is not allowed by an unused limit';
    if (unless(free, 'allowed', why)) return { why, history: free };
    const history = [...free, ...(await burst([pod!], key, 2))];
    return unless(history, 'allowed', '') && { why: 'costs of 0 have used up a limit of 2', history };
  },
} as const satisfies Attempts;
