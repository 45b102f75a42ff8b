import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { CLIENT, ENGINE, LIBRARY, MIGRATE, type Packed } from './support/packed.js';

interface Expected {
  readonly packed: Packed;
  /** In the repository. */
  readonly folder: string;
  /** Beside those that all packages have. */
  readonly texts: readonly string[];
  /** Bytes, unpacked. */
  readonly most: number;
  /** Packages that its types import. */
  readonly imports: readonly string[];
}

const EXPECTED: readonly Expected[] = [
  {
    packed: ENGINE,
    folder: 'libs/floodgate',
    texts: ['LICENSE-ms.md', 'LICENSE-eventsource-parser.md'],
    most: 1_260_000,
    imports: [],
  },
  {
    packed: LIBRARY,
    folder: 'libs/nest',
    texts: [
      'llms.txt',
      'skills/nestjs-floodgate/SKILL.md',
      'monitoring/dashboard.json',
      'dist/schematics/collection.json',
    ],
    most: 550_000,
    imports: [
      '@nestjs/common',
      '@nestjs/core',
      'floodgate',
      'floodgate/http',
      'floodgate/llm',
      'floodgate/redis',
      'floodgate/testing',
    ],
  },
  { packed: CLIENT, folder: 'libs/client', texts: ['CHANGELOG.md'], most: 125_000, imports: [] },
  {
    packed: MIGRATE,
    folder: 'libs/migrate',
    texts: ['bin/nestjs-floodgate-migrate.js', 'dist/cli.js'],
    most: 100_000,
    imports: [],
  },
];

describe.each(EXPECTED)('the tarball of $packed.name', ({ packed, folder, texts, most, imports }) => {
  const { files, entries } = packed;

  it('contains each entry point in both formats with its types, and the texts', () => {
    const built = entries.flatMap((entry) => {
      const code = ['.js', '.cjs'];
      // These entry points have no types: only the other package of this repository loads them.
      const ends = entry.startsWith('internal') ? code : [...code, '.d.ts', '.d.cts'];
      return ends.map((end) => `dist/${entry}${end}`);
    });
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json', ...texts, ...built]));
    const known =
      /^(?:CHANGELOG\.md|LICENSE(?:-(?:eventsource-parser|ms|js-yaml|semver)\.md)?|README\.md|llms\.txt|package\.json|bin\/nestjs-floodgate(?:-migrate)?\.c?js|monitoring\/[\w.]+|skills\/nestjs-floodgate\/SKILL\.md|dist\/schematics\/(?:collection\.json|nest-add\.(?:cjs|schema\.json))|dist\/(?:shared\/)?[\w.-]+\.(?:d\.)?c?[jt]s(?:\.map)?)$/;
    expect(files.filter((file) => !known.test(file))).toEqual([]);
  });

  it('has a README of its own, whose links are absolute', () => {
    const links = Array.from(packed.textOf('README.md').matchAll(/\]\(([^)]*)\)/g), ([, link]) => link);
    expect(links.length).toBeGreaterThan(0);
    expect(links.filter((link) => !/^(?:https:\/\/|#)/.test(link!))).toEqual([]);
  });

  it('weighs little', () => {
    const bytes = files.reduce((sum, file) => sum + Buffer.byteLength(packed.textOf(file)), 0);
    expect(bytes).toBeLessThan(most);
  });

  it('has no source maps, and no testing kit in what the other entry points load', () => {
    expect(files.filter((file) => file.endsWith('.map'))).toEqual([]);
    for (const file of files.filter((name) => /^dist\/(?!testing).*\.c?js$/.test(name))) {
      const code = packed.textOf(file);
      expect({ file, maps: code.includes('sourceMappingURL') }).toEqual({ file, maps: false });
      expect({ file, kit: /rateLimitStoreConformance|class VirtualClock/.test(code) }).toEqual({ file, kit: false });
    }
  });

  it('has types that need no packages but these, and show nothing internal', () => {
    const types = files.filter((file) => /\.d\.c?ts$/.test(file)).map((file) => packed.textOf(file));
    const imported = types.flatMap((text) =>
      Array.from(text.matchAll(/(?:from|import\() ?'([^.'][^']*)'/g), ([, name]) => name),
    );
    const packages = imported.filter((name) => !name!.startsWith('node:'));
    expect(new Set(packages)).toEqual(new Set(imports));
    expect(types.filter((text) => text.includes('@internal'))).toEqual([]);
  });

  it('names its repository, and where faults are reported', () => {
    expect(packed.manifest).toMatchObject({
      repository: { directory: folder },
      homepage: expect.stringContaining('https://'),
      bugs: expect.stringContaining('https://'),
    });
  });

  it('passes publint and attw', async () => {
    const { stdout } = await promisify(execFile)('npm', ['run', 'check:package', '--', packed.tarball]);
    expect(stdout).toContain('All good!');
    const isTyped = files.some((file) => file.endsWith('.d.ts'));
    expect(stdout).toContain(isTyped ? 'No problems found' : 'This package does not contain types');
  });
});

it('loads one file of the engine with the module for Nest, and one at boot', () => {
  const files = LIBRARY.files.filter((name) => /^dist\/(?!llm|testing)(?:shared\/)?[\w.-]+\.c?js$/.test(name));
  const named = files.flatMap((file) =>
    Array.from(
      LIBRARY.textOf(file).matchAll(/\b(?:from|import|require\() ?["'](floodgate(?:\/[\w-]+)?)["']/g),
      ([, name]) => name,
    ),
  );
  expect(new Set(named)).toEqual(new Set(['floodgate/internal', 'floodgate/internal-boot']));
});
