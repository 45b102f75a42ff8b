import { expect, it } from '@jest/globals';
import {
  changesetOf,
  newestSection,
  type Release,
  releaseNow,
  releaseProblems,
  withSection,
} from '../../tools/release.js';

const CHANGELOG =
  '# Changelog\n\nWhat a user sees.\n\n## 0.2.0\n\n### Added\n\n- A new option.\n\n## 0.1.0\n\nThe first.\n';

const release = (version: string, more: Partial<Release> = {}): Release => ({
  packages: [
    { name: 'engine', version, dependencies: { other: '^1.0.0' } },
    { name: 'module', version, dependencies: { engine: version } },
  ],
  changelog: CHANGELOG,
  changesets: [],
  ...more,
});

it.each<[what: string, release: Release, problems: readonly string[]]>([
  ['agrees, without a tag', release('0.2.0'), []],
  ['agrees with its tag', release('0.2.0', { tag: 'v0.2.0' }), []],
  ['has changesets for the next one', release('0.2.0', { changesets: ['one.md'] }), []],
  [
    'has another tag',
    release('0.2.0', { tag: '0.2.0' }),
    ['The tag is 0.2.0: the packages have version 0.2.0, so it is v0.2.0'],
  ],
  [
    'has a tag and changesets that wait',
    release('0.2.0', { tag: 'v0.2.0', changesets: ['one.md', 'two.md'] }),
    ['Changesets wait: one.md, two.md. `npm run release -- version` makes a version of them'],
  ],
  [
    'is not in the changelog',
    release('0.3.0'),
    ["CHANGELOG.md begins with '0.2.0': the packages have version 0.3.0, so it begins with '## 0.3.0'"],
  ],
  [
    'has changes that are not released in the changelog',
    release('0.2.0', { changelog: CHANGELOG.replace('## 0.2.0', '## Unreleased') }),
    ["CHANGELOG.md begins with 'Unreleased': the packages have version 0.2.0, so it begins with '## 0.2.0'"],
  ],
  [
    'has an empty section',
    release('0.2.0', { changelog: '# Changelog\n\n## 0.2.0\n\n## 0.1.0\n\nThe first.\n' }),
    ["CHANGELOG.md says nothing of '0.2.0'"],
  ],
  [
    'has a section that nobody reads',
    release('0.2.0', { changelog: `## 0.2.0\n\n${'- A line.\n'.repeat(61)}` }),
    ["CHANGELOG.md has 61 lines of '0.2.0': it has at most 60"],
  ],
  [
    'has two versions',
    release('0.2.0', {
      packages: [
        { name: 'engine', version: '0.2.0', dependencies: {} },
        { name: 'module', version: '0.1.0', dependencies: { engine: '0.1.0' } },
      ],
    }),
    [
      'module has version 0.1.0, and engine has 0.2.0: all packages have one version',
      'module needs engine 0.1.0: it needs 0.2.0',
    ],
  ],
  [
    'has an order that leaves a package without what it needs',
    release('0.2.0', {
      packages: [
        { name: 'module', version: '0.2.0', dependencies: { engine: '0.2.0' } },
        { name: 'engine', version: '0.2.0', dependencies: {} },
      ],
    }),
    ['module is published before engine, which it needs: change the order of workspaces'],
  ],
])('a release that %s', (_, given, problems) => {
  expect(releaseProblems(given)).toEqual(problems);
});

it('the packages, the changelog and the changesets of the repository agree', () => {
  const { packages, ...rest } = releaseNow();
  expect(packages.map(({ name }) => name)).toEqual([
    'floodgate',
    'nestjs-floodgate',
    'floodgate-client',
    'nestjs-floodgate-migrate',
  ]);
  expect(releaseProblems({ packages, ...rest })).toEqual([]);
});

it('changesets become the newest section of the changelog', () => {
  const changesets = [
    '---\n"engine": minor\n---\n\n`align` of a window. See docs/policies.md.\n',
    '---\n"engine": patch\n"module": patch\n---\n\nA lease ends\nin time.\n',
    '---\n"module": minor\n---\n\nBreaking: `old` is gone. Use `new`.\n',
    '---\n"module": major\n---\n\nNode 20 goes.\n',
  ].map(changesetOf);
  const changelog = withSection(CHANGELOG, '0.3.0', changesets);
  const { heading, lines } = newestSection(changelog);
  expect(heading).toBe('0.3.0');
  expect(lines.join('\n')).toBe(`### Breaking

- \`old\` is gone. Use \`new\`.
- Node 20 goes.

### Added

- \`align\` of a window. See docs/policies.md.

### Fixed

- A lease ends
  in time.`);
  expect(changelog.endsWith(CHANGELOG.slice(CHANGELOG.indexOf('## 0.2.0')))).toBe(true);
  expect(releaseProblems(release('0.3.0', { changelog }))).toEqual([]);
});
