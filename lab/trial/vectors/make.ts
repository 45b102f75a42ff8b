// `npm run vectors`: writes the vectors of each algorithm, one line for each.
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { optionsOf } from '../../../tools/command-line.js';
import { makeVectors } from './families.js';
import { type AlgorithmName, ALGORITHMS, fileOf } from './vector.js';

/** The text of the file of an algorithm's vectors. */
export function textOf(algorithm: AlgorithmName): string {
  return `[\n${makeVectors(algorithm)
    .map((vector) => JSON.stringify(vector))
    .join(',\n')}\n]\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1]!).href) {
  optionsOf('npm run vectors');
  for (const algorithm of ALGORITHMS) writeFileSync(fileOf(algorithm), textOf(algorithm));
}
