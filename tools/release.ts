// What a release has beside its packages (docs/releasing.md):
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import parseChangeset from '@changesets/parse';
import { exitWithUsage } from './command-line.js';
import { PUBLISHED, type Published } from './published.js';

const USAGE = `npm run release -- <command>
  check [v0.1.0]  whether the packages, the changelog, the changesets and the tag agree
  notes           prints the newest section of the changelog: the text of the GitHub release
  version         raises all versions by the changesets, and makes these a section of the changelog`;

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CHANGELOG = join(ROOT, 'CHANGELOG.md');
const CHANGESETS = join(ROOT, '.changeset');
/** Lines of a section of the changelog: it is read, and is the text of a GitHub release. */
const LONGEST_SECTION = 60;

export interface Changeset {
  readonly bump: 'major' | 'minor' | 'patch';
  readonly text: string;
}

export interface Release {
  readonly packages: readonly Pick<Published, 'name' | 'version' | 'dependencies'>[];
  readonly changelog: string;
  /** The names of the files. */
  readonly changesets: readonly string[];
  /** Undefined before there is one. */
  readonly tag?: string | undefined;
}

/** What keeps a release from being published, a sentence for each. */
export function releaseProblems({ packages, changelog, changesets, tag }: Release): string[] {
  const [{ name: first, version }] = packages as [Published, ...Published[]];
  const versions = new Map(packages.map((one) => [one.name, one.version]));
  const { heading, lines } = newestSection(changelog);
  const length = lines.filter((line) => line !== '').length;
  return [
    ...packages
      .filter((one) => one.version !== version)
      .map(
        (one) => `${one.name} has version ${one.version}, and ${first} has ${version}: all packages have one version`,
      ),
    ...packages.flatMap((one, i) =>
      Object.entries(one.dependencies).flatMap(([name, range]) => {
        if (!versions.has(name)) return [];
        const isBefore = packages.slice(0, i).some((earlier) => earlier.name === name);
        return [
          ...(range === version ? [] : [`${one.name} needs ${name} ${range}: it needs ${version}`]),
          ...(isBefore
            ? []
            : [`${one.name} is published before ${name}, which it needs: change the order of workspaces`]),
        ];
      }),
    ),
    ...(heading === version
      ? []
      : [
          `CHANGELOG.md begins with '${heading}': the packages have version ${version}, so it begins with '## ${version}'`,
        ]),
    ...(length === 0 ? [`CHANGELOG.md says nothing of '${heading}'`] : []),
    ...(lines.length > LONGEST_SECTION
      ? [`CHANGELOG.md has ${lines.length} lines of '${heading}': it has at most ${LONGEST_SECTION}`]
      : []),
    ...(tag === undefined || tag === `v${version}`
      ? []
      : [`The tag is ${tag}: the packages have version ${version}, so it is v${version}`]),
    ...(tag === undefined || changesets.length === 0
      ? []
      : [`Changesets wait: ${changesets.join(', ')}. \`npm run release -- version\` makes a version of them`]),
  ];
}

/** The newest section of a changelog, without its heading. */
export function newestSection(changelog: string): { readonly heading: string; readonly lines: readonly string[] } {
  const [, heading = '', text = ''] = /^## (.*)\n([^]*?)(?=^## |$(?![^]))/m.exec(changelog) ?? [];
  return { heading, lines: text.trim() === '' ? [] : text.trim().split('\n') };
}

/** A changelog with a section of a version's changesets before the others. */
export function withSection(changelog: string, version: string, changesets: readonly Changeset[]): string {
  const groups = new Map<string, string[]>([
    ['Breaking', []],
    ['Added', []],
    ['Fixed', []],
  ]);
  for (const { bump, text } of changesets) {
    const breaking = bump === 'major' || text.startsWith('Breaking:');
    const group = breaking ? 'Breaking' : bump === 'minor' ? 'Added' : 'Fixed';
    groups.get(group)!.push(`- ${text.replace(/^Breaking: */, '').replaceAll('\n', '\n  ')}\n`);
  }
  const written = [...groups].filter(([, entries]) => entries.length > 0);
  const section = `## ${version}\n\n${written.map(([name, entries]) => `### ${name}\n\n${entries.join('')}`).join('\n')}\n`;
  const at = changelog.search(/^## /m);
  return at === -1 ? `${changelog}\n${section}` : changelog.slice(0, at) + section + changelog.slice(at);
}

/** @param file the text of a changeset */
export function changesetOf(file: string): Changeset {
  const { releases, summary: text } = parseChangeset(file);
  const bump = (['major', 'minor'] as const).find((one) => releases.some(({ type }) => type === one)) ?? 'patch';
  return { bump, text };
}

/** The release as the repository has it. */
export function releaseNow(tag?: string): Release {
  const changesets = readdirSync(CHANGESETS).filter((name) => name.endsWith('.md') && name !== 'README.md');
  return { packages: PUBLISHED, changelog: readFileSync(CHANGELOG, 'utf8'), changesets, tag };
}

function check(tag?: string): void {
  const problems = releaseProblems(releaseNow(tag));
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
  else console.log(`${PUBLISHED.map(({ name }) => name).join(', ')}: version ${PUBLISHED[0]!.version}`);
}

function raiseVersions(): void {
  const { changelog, changesets } = releaseNow();
  if (changesets.length === 0) throw new Error('No changeset waits: there is nothing to release');
  const read = changesets.map((name) => changesetOf(readFileSync(join(CHANGESETS, name), 'utf8')));
  const run = (program: string, ...args: string[]): void => {
    execFileSync(program, args, { cwd: ROOT, stdio: 'inherit' });
  };
  run('npx', 'changeset', 'version');
  const versionOf = (file: string): string => (JSON.parse(readFileSync(file, 'utf8')) as Published).version;
  const version = versionOf(join(ROOT, PUBLISHED[0]!.folder, 'package.json'));
  writeFileSync(CHANGELOG, withSection(changelog, version, read));
  run('npm', 'version', version, '--no-git-tag-version', '--no-workspaces-update', '--allow-same-version');
  run('npm', 'install', '--package-lock-only', '--ignore-scripts');
  run('npx', 'prettier', '--write', CHANGELOG);
  run('npm', 'run', '--silent', 'release', '--', 'check');
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [command, tag] = process.argv.slice(2);
  if (command === 'check') check(tag);
  else if (command === 'notes') console.log(newestSection(releaseNow().changelog).lines.join('\n'));
  else if (command === 'version') raiseVersions();
  else exitWithUsage(USAGE, `'${command ?? ''}' is not a command: give check, notes or version`);
}
