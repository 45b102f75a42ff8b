import { type Tables } from './instants.js';
import { expectSame } from './same.js';
import { algorithmOf } from './small-policies.js';
import type { Timeline } from './timeline.js';

/** Opens a new, empty store on a clock of its own. */
export type OpenTimeline = (maxSkewMs?: number) => Promise<Timeline>;

/** Something that holds for every store: it throws when it does not. */
export type Law = (open: OpenTimeline) => Promise<void>;

/** Laws by name. */
export type Laws = Readonly<Record<string, Law>>;

/** One law for each table: the store gives exactly its verdicts. */
export function lawsOf(tables: Tables): Laws {
  return eachOf(
    Object.keys(tables),
    (name) => name,
    (name) => async (open) => {
      const { policy, maxSkewMs, steps } = tables[name]!;
      const algorithm = algorithmOf(policy);
      const timeline = await open(maxSkewMs);
      for (const [i, [at, cost, expected]] of steps.entries()) {
        const where = `step ${i + 1} of ${steps.length}: cost ${cost} at ${at} microseconds, ${algorithm.name} of ${algorithm.describe()}`;
        expectSame(where, await timeline.charge(at, algorithm, cost), expected);
      }
    },
  );
}

/** One law for each of some names. */
export function eachOf<Name extends string>(
  names: readonly Name[],
  title: (name: Name) => string,
  law: (name: Name) => Law,
): Laws {
  return Object.fromEntries(names.map((name) => [title(name), law(name)]));
}
