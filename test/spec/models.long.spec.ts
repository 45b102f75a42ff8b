import { describe, expect, it } from '@jest/globals';
import { findMutation } from '../../lab/spec/find-mutation.js';
import { MODELS, sourceOf } from '../../lab/spec/models.js';
import { checkModel } from '../../lab/spec/spin.js';
import { findProgram } from '../../tools/programs.js';

/** `npm run setup` installs it, where it can. The traces are replayed in any case. */
const hasSpin = findProgram('spin') !== undefined && findProgram('cc') !== undefined;
const TIMEOUT_MS = 300_000;

// `npm run spec` checks the larger bounds as well.
(hasSpin ? describe : describe.skip).each(MODELS.map((model) => [model.name, model] as const))(
  'the model %s (skipped without the program spin)',
  (_, model) => {
    it.each(model.variants.map((macros) => [macros.join(' '), macros] as const))(
      'keeps its promises in all states %s',
      async (_macros, macros) => {
        expect((await checkModel(sourceOf(model), macros)).failure).toBeUndefined();
      },
      TIMEOUT_MS,
    );

    it.each(model.mutations.filter(({ isDeep }) => !isDeep).map((mutation) => [mutation.title, mutation] as const))(
      'does not keep them where %s',
      async (_title, mutation) => {
        expect((await findMutation(model, mutation))?.length).toBeGreaterThan(0);
      },
      TIMEOUT_MS,
    );
  },
);
