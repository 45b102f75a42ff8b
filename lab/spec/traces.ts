import { readFileSync } from 'node:fs';
import { findMutation } from './find-mutation.js';
import { FOLDER, type Model, sourceOf } from './models.js';
import { walkModel } from './spin.js';

/** How many walks are tried, and how many kept: those that go through the most pairs of steps in a row that no other has. */
const TRIED = 200;
const KEPT = 12;
const MOST_STEPS = 40;
/** Statements of a model, of which a step has up to some twenty. */
const MOST_STATEMENTS = 4_000;

/** Steps of a model, each with what was decided and what was left, as its header says. */
export type Trace = readonly string[];

function fileOf({ name }: Model): URL {
  return new URL(`traces/${name}.json`, FOLDER);
}

export function keptTraces(model: Model): Trace[] {
  return (JSON.parse(readFileSync(fileOf(model), 'utf8')) as string[]).map((text) => text.split(', '));
}

export function textOf(traces: readonly Trace[]): string {
  return `${JSON.stringify(
    traces.map((steps) => steps.join(', ')),
    undefined,
    2,
  )}\n`;
}

export async function makeTraces(model: Model): Promise<Trace[]> {
  const source = sourceOf(model);
  const walks: Trace[] = [];
  for (let seed = 1; seed <= TRIED; seed++) {
    const steps = await walkModel(source, model.variants[0]!, seed, MOST_STATEMENTS);
    walks.push(steps.slice(0, MOST_STEPS));
  }
  const seen = new Set<string>();
  const kept: Trace[] = [];
  for (const goal of model.goals ?? []) {
    const steps = await findMutation(model, goal);
    if (steps === undefined) throw new Error(`no history leads there: ${goal.title}`);
    kept.push(steps);
  }
  while (kept.length < KEPT) {
    const news = walks.map((walk) => pairsOf(walk).filter((pair) => !seen.has(pair)).length);
    const best = news.indexOf(Math.max(...news));
    for (const pair of pairsOf(walks[best]!)) seen.add(pair);
    kept.push(walks[best]!);
  }
  return kept;
}

/** Each two steps in a row, without their numbers but the last one. */
function pairsOf(walk: Trace): string[] {
  const kinds = walk.map((step) => step.replace(/ \d+(?= )/g, ''));
  return [...new Set(kinds.map((kind, i) => `${kinds[i - 1] ?? ''} ${kind}`))];
}

export { fileOf };
