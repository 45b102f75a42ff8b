import '../typescript-loader.js';

/**
 * A `globalSetup` of Jest that fails when a program is missing, before any test runs.
 *
 * @param {...import('../../../tools/programs.ts').Program} programs
 * @returns {() => Promise<void>}
 */
export function needs(...programs) {
  return async () => {
    const { requirePrograms } = await import('../../../tools/programs.ts');
    requirePrograms(programs);
  };
}
