import type { Event, Story } from './story.js';

/**
 * Leaves out events that a failure does not need, in ever smaller groups. What is left happens when it did. Source: delta debugging, Zeller
 * and Hildebrandt, 2002.
 *
 * @param fails whether a shorter story still fails
 */
export async function shrunk(story: Story, fails: (story: Story) => Promise<boolean>): Promise<Story> {
  let least = story;
  for (let size = Math.ceil(story.events.length / 2); ; size = Math.ceil(size / 2)) {
    const before = least.events.length;
    for (let at = 0; at < least.events.length;) {
      const shorter = { ...least, events: without(least.events, at, size) };
      if (await fails(shorter)) least = shorter;
      else at += size;
    }
    if (size === 1 && least.events.length === before) break;
  }
  for (let pods = 1; pods < least.pods; pods++) if (await fails({ ...least, pods })) return { ...least, pods };
  return least;
}

/** The events without so many of them. The one behind them takes over their time. */
function without(events: readonly Event[], at: number, size: number): Event[] {
  const passed = events.slice(at, at + size).reduce((sum, { after }) => sum + after, 0);
  const [next, ...rest] = events.slice(at + size);
  const kept = events.slice(0, at);
  return next === undefined ? kept : [...kept, { ...next, after: next.after + passed }, ...rest];
}
