import { type Model, mutated, type Mutation, sourceOf } from './models.js';
import { checkModel } from './spin.js';

/** The shortest history that shows what is wrong with a mutated model; undefined if its checks find nothing. */
export async function findMutation(model: Model, mutation: Mutation): Promise<readonly string[] | undefined> {
  const source = mutated(sourceOf(model), mutation);
  for (const macros of [...model.variants, ...(mutation.isDeep ? model.larger! : [])]) {
    const { failure, steps } = await checkModel(source, macros);
    if (failure !== undefined) return steps;
  }
  return undefined;
}
