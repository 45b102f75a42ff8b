import * as fc from 'fast-check';
import { shrunk } from './shrink.js';
import { perform } from './stage.js';
import { stories, type Story } from './story.js';
import type { SeedStrategy } from './strategy.js';

/** A story that broke a promise: in this form it is kept in `kept/`, and a test replays it. */
export interface Finding {
  readonly strategy: string;
  readonly seed: number;
  readonly broken: readonly string[];
  readonly story: Story;
}

/** The story of a seed. */
export function storyOf({ operates = false, excluded }: SeedStrategy, seed: number): Story {
  return fc.sample(stories(operates, excluded), { seed, numRuns: 1 })[0]!;
}

/** What a story breaks. Once all is quiet, Redis has to decide: what fails then is broken, too. */
export async function brokenBy(strategy: SeedStrategy, story: Story): Promise<readonly string[]> {
  try {
    return strategy.check(await perform(strategy, story));
  } catch (error) {
    return [(error as Error).stack ?? String(error)];
  }
}

/** Tries the story of a seed. Returns it, shrunk to few events, if it breaks a promise. */
export async function trySeed(strategy: SeedStrategy, seed: number): Promise<Finding | undefined> {
  const fails = async (story: Story): Promise<boolean> => (await brokenBy(strategy, story)).length > 0;
  const whole = storyOf(strategy, seed);
  if (!(await fails(whole))) return undefined;
  const story = await shrunk(whole, fails);
  return { strategy: strategy.name, seed, broken: await brokenBy(strategy, story), story };
}
