import '../typescript-loader.js';

/** A `globalSetup` of Jest that fails when a program is missing that the project needs, before any test runs. */
export default async function checkPrograms(_globalConfig, { displayName: { name } }) {
  await requireFor(name);
}

/** @param {keyof typeof import('../../../tools/programs.ts').NEEDED_BY} name of a project, or a command */
export async function requireFor(name) {
  const { NEEDED_BY, requirePrograms } = await import('../../../tools/programs.ts');
  requirePrograms(NEEDED_BY[name]);
}
