import '../typescript-loader.js';

/**
 * A `globalSetup` of Jest that fails when a program is missing, before any test runs.
 *
 * @param {...keyof typeof import('../../../tools/programs.ts').NEEDED_BY} names projects, or commands
 * @returns {() => Promise<void>}
 */
export function needs(...names) {
  return async () => {
    const { NEEDED_BY, requirePrograms } = await import('../../../tools/programs.ts');
    requirePrograms([...new Set(names.flatMap((name) => NEEDED_BY[name]))]);
  };
}
