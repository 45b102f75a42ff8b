import type { Asked, Broken } from '../run/asked.js';
import type { Stage } from '../run/stage.js';
import type { PromiseName } from './titles.js';

/** Tries to break a promise, and returns what shows that it is broken. */
export type Attempt = (stage: Stage) => Promise<Broken | undefined>;

export type Attempts = Readonly<Partial<Record<PromiseName, Attempt>>>;

/** The first of the requests that has another answer than it should. */
export function unless(history: readonly Asked[], answer: Asked['answer'], why: string): Broken | undefined {
  const wrong = history.find((asked) => asked.answer !== answer);
  return wrong && { why, history: [wrong] };
}
