import { type Asked, admitted } from '../run/asked.js';
import { until } from '../run/stage.js';
import type { Attempts } from './attempt.js';

const LIMIT = 3;

export const CLOCKS = {
  clock: async (stage) => {
    const [right, ahead] = await stage.open(2, LIMIT, 'B');
    for (const [first, second] of [
      [right!, ahead!],
      [ahead!, right!],
    ] as const) {
      const key = stage.key();
      const end = await stage.withinWindow();
      const history: Asked[] = [...(await first.ask(key, 1, LIMIT)), ...(await second.ask(key, 1, LIMIT))];
      const last = history.at(-1)!.answered;
      // A bucket has refilled as much by now.
      const refilled = stage.adapter.definition === 'bucket' ? LIMIT * ((last - history[0]!.sent) / stage.windowMs) : 0;
      if (last < end && admitted(history) > LIMIT + refilled) {
        return { why: `a process an hour ahead passes a limit of ${LIMIT} once more`, history };
      }
      await until(last + stage.freeAfterMs);
      for (const pod of [first, second]) {
        const next = await pod.ask(key);
        history.push(...next);
        if (next[0]!.answer === 'allowed') continue;
        return { why: 'a clock an hour ahead rejects beyond the window', history };
      }
    }
    return undefined;
  },
} as const satisfies Attempts;
