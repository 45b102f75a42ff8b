// `npm run spec`: checks the models, finds each wrong line in them, and compares the kept traces with new ones.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { optionsOf } from '../../tools/command-line.js';
import { NEEDED_BY, requirePrograms } from '../../tools/programs.js';
import { findMutation } from './find-mutation.js';
import { FOLDER, MODELS, sourceOf } from './models.js';
import { checkModel } from './spin.js';
import { fileOf, makeTraces, textOf } from './traces.js';

const { write: writes = false } = optionsOf('npm run spec -- [options]\n  --write  keeps the new traces', {
  write: { type: 'boolean' },
});
requirePrograms(NEEDED_BY['npm run spec']);
let failures = 0;

function say(isWell: boolean, text: string): void {
  if (!isWell) failures++;
  process.stdout.write(`${isWell ? 'ok    ' : 'FAILED'} ${text}\n`);
}

for (const model of MODELS) {
  const source = sourceOf(model);
  for (const macros of [...model.variants, ...(model.larger ?? [])]) {
    const { states, failure, steps } = await checkModel(source, macros);
    const name = [model.name, ...macros].join(' ');
    say(failure === undefined, `${name}: ${states} states${failure ? `, ${failure}\n${steps.join('\n')}` : ''}`);
  }
  for (const mutation of model.mutations) {
    const found = await findMutation(model, mutation);
    say(
      found !== undefined,
      `  ${found === undefined ? 'not found' : `found after ${found.length} steps`}: ${mutation.title}`,
    );
  }
  const traces = textOf(await makeTraces(model));
  const file = fileOf(model);
  if (writes) {
    mkdirSync(new URL('traces/', FOLDER), { recursive: true });
    writeFileSync(file, traces);
  }
  say(existsSync(file) && readFileSync(file, 'utf8') === traces, `  traces`);
}
process.exitCode = failures === 0 ? 0 : 1;
