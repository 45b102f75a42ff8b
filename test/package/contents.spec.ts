import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, jest } from '@jest/globals';
import { ENTRIES, MANIFEST, PACKAGE, TARBALL } from './support/packed.js';

jest.setTimeout(120_000); // attw takes a while

const files = readdirSync(PACKAGE, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).slice(PACKAGE.length + 1));
const textOf = (file: string): string => readFileSync(join(PACKAGE, file), 'utf8');

describe('the tarball', () => {
  it('contains each entry point in both formats with its types, and the texts', () => {
    const built = ENTRIES.flatMap((entry) => ['.js', '.cjs', '.d.ts', '.d.cts'].map((end) => `dist/${entry}${end}`));
    expect(files).toEqual(
      expect.arrayContaining(['CHANGELOG.md', 'LICENSE', 'README.md', 'llms.txt', 'package.json', ...built]),
    );
    const known =
      /^(?:CHANGELOG\.md|LICENSE|README\.md|llms\.txt|package\.json|bin\/nestjs-floodgate\.c?js|dist\/(?:shared\/)?[\w.-]+\.(?:d\.)?c?[jt]s(?:\.map)?)$/;
    expect(files.filter((file) => !known.test(file))).toEqual([]);
  });

  it('has a README of its own, whose links are absolute', () => {
    const links = Array.from(textOf('README.md').matchAll(/\]\(([^)]*)\)/g), ([, link]) => link);
    expect(links.length).toBeGreaterThan(0);
    expect(links.filter((link) => !/^(?:https:\/\/|#)/.test(link!))).toEqual([]);
  });

  it('has source maps that contain the sources', () => {
    const maps = files.filter((file) => file.endsWith('.map'));
    expect(maps.length).toBeGreaterThanOrEqual(2 * ENTRIES.length);
    for (const file of maps) {
      const map = JSON.parse(textOf(file)) as { sources: string[]; sourcesContent?: (string | null)[] };
      expect(map.sources.length).toBeGreaterThan(0);
      expect(map.sources.filter((source) => !/^(?:\.\.\/)+src\/.*\.ts$/.test(source))).toEqual([]);
      expect(map.sourcesContent?.filter((text) => typeof text === 'string').length).toBe(map.sources.length);
    }
  });

  it('has types that need nothing but Nest and Node, and show nothing internal', () => {
    const types = files.filter((file) => /\.d\.c?ts$/.test(file)).map(textOf);
    const imported = types.flatMap((text) =>
      Array.from(text.matchAll(/(?:from|import\() ?'([^.'][^']*)'/g), ([, name]) => name),
    );
    expect(imported).toContain('@nestjs/common');
    expect(imported.filter((name) => !/^(?:@nestjs\/(?:common|core)|node:.*)$/.test(name!))).toEqual([]);
    expect(types.filter((text) => text.includes('@internal'))).toEqual([]);
  });

  it('names its repository, and where faults are reported', () => {
    expect(MANIFEST).toMatchObject({
      repository: { directory: 'libs/rate-limit' },
      homepage: expect.stringContaining('https://'),
      bugs: expect.stringContaining('https://'),
    });
  });

  it('passes publint and attw', async () => {
    const { stdout } = await promisify(execFile)('npm', ['run', 'check:package', '--', TARBALL]);
    expect(stdout).toContain('All good!');
    expect(stdout).toContain('No problems found');
  });
});
