import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { requireProgram } from '../../tools/programs.js';

const run = promisify(execFile);
const MAX_BUFFER = 64 * 1024 * 1024;
/** Safety alone, breadth first: the history of a failure is the shortest one. */
const FLAGS = ['-w', '-O2', '-DSAFETY', '-DBFS', '-o', 'pan', 'pan.c'];

export interface Checked {
  /** The states that were visited: all that the model can reach, unless the check has failed. */
  readonly states: number;
  /** The assertion that does not hold; undefined if all do. */
  readonly failure?: string;
  /** The steps to it. */
  readonly steps: readonly string[];
}

/**
 * Visits all states of a model.
 *
 * @param macros such as `TOTAL=2`
 * @throws {Error} for a model that cannot be compiled, or a check that has not come to its end
 */
export async function checkModel(source: string, macros: readonly string[]): Promise<Checked> {
  const spin = requireProgram('spin');
  return inFolder(source, async (cwd) => {
    const given = [...macros.map((macro) => `-D${macro}`), 'model.pml'];
    await run(spin, ['-a', ...given], { cwd });
    await run(requireProgram('cc'), FLAGS, { cwd });
    // -E: a model may come to its end.
    const { stdout } = await run(join(cwd, 'pan'), ['-E'], { cwd, maxBuffer: MAX_BUFFER });
    const states = Number(/(\d+) states, stored/.exec(stdout)?.[1]);
    const errors = Number(/errors: (\d+)/.exec(stdout)?.[1]);
    if (
      !(states > 0) ||
      Number.isNaN(errors) ||
      (errors === 0 && /not completed|too small|out of memory/.test(stdout))
    ) {
      throw new Error(`the check has not come to its end:\n${stdout}`);
    }
    if (errors === 0) return { states, steps: [] };
    const failure = /assertion violated (.*) \(at depth/.exec(stdout)?.[1] ?? stdout;
    const history = await run(spin, ['-t', '-T', ...given], { cwd, maxBuffer: MAX_BUFFER });
    return { states, failure, steps: stepsIn(history.stdout) };
  });
}

/** Random steps of a model: the same ones for the same seed. */
export async function walkModel(
  source: string,
  macros: readonly string[],
  seed: number,
  most: number,
): Promise<string[]> {
  return inFolder(source, async (cwd) => {
    const args = [`-n${seed}`, '-T', `-u${most}`, ...macros.map((macro) => `-D${macro}`), 'model.pml'];
    return stepsIn((await run(requireProgram('spin'), args, { cwd, maxBuffer: MAX_BUFFER })).stdout);
  });
}

/** What a model has logged. */
function stepsIn(output: string): string[] {
  return output.split('\n').flatMap((line) => /^\s*@ (.*)$/.exec(line)?.[1] ?? []);
}

async function inFolder<T>(source: string, task: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'floodgate-spec-'));
  try {
    await writeFile(join(folder, 'model.pml'), source);
    return await task(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
