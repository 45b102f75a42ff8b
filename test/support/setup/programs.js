import '../typescript-loader.js';

/** A `globalSetup` of Jest that fails when a program is missing that the project needs, before any test runs. */
export default async function checkPrograms(_globalConfig, { displayName: { name } }) {
  const { NEEDED_BY, requirePrograms } = await import('../../../tools/programs.ts');
  requirePrograms(NEEDED_BY[name]);
}
