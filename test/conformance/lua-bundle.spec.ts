import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ALGORITHM_NAMES } from '../../libs/rate-limit/src/algorithms/algorithms.js';
import { useRedis } from '../support/redis-fixture.js';

interface Bundler {
  readonly TARGET: string;
  readonly OVERRIDES_TARGET: string;
  readonly OVERRIDES_FOLDER: string;
  readonly NODE_TARGET: string;
  readonly bundle: (folder?: string) => string;
  readonly bundleNode: () => string;
  readonly programOf: (folder?: string) => string;
}

// The bundler is plain JavaScript without types, so that npm can run it before anything is built.
const bundler = (await import(pathToFileURL(resolve('lua/bundle.js')).href)) as Bundler;
const { TARGET, NODE_TARGET, OVERRIDES_TARGET, OVERRIDES_FOLDER, bundle, bundleNode, programOf } = bundler;

/** The program of a policy with `lease`, which is another one than that of its algorithm. */
const LEASED = ['leased-bucket'];
const PROGRAMS = [...ALGORITHM_NAMES, ...LEASED];

describe('the Lua program in the library', () => {
  it('is what lua/bundle.js makes of its sources (npm run lua:bundle)', () => {
    expect(readFileSync(TARGET, 'utf8')).toBe(bundle());
    expect(readFileSync(NODE_TARGET, 'utf8')).toBe(bundleNode());
    expect(readFileSync(OVERRIDES_TARGET, 'utf8')).toBe(bundle(OVERRIDES_FOLDER));
  });

  it('has a file for each algorithm of the list, and no other', () => {
    const files = readdirSync('lua/algorithms').filter((file) => file.endsWith('.lua'));
    expect(files.map((file) => basename(file, '.lua'))).toEqual(PROGRAMS.toSorted());
  });

  it('has a branch for every algorithm, and no directive that is left', () => {
    const program = programOf();
    for (const name of PROGRAMS) expect(program).toContain(`if algorithm == '${name}' then\n`);
    expect(program).not.toMatch(/^\s*---/m);
  });
});

describe('the Lua program for one node of a Cluster', () => {
  it('is that of the decisions, with other arguments, which reads each key for itself', () => {
    const program = bundleNode();
    expect(program).toContain("redis.pcall('GET', KEYS[k])");
    expect(program).not.toContain("'MGET'");
    const [, decisions] = /-- (Decides a batch[^]*?)-- Phase one/.exec(programOf())!;
    expect(JSON.parse(/"[^]*?(?=;\nexport)/.exec(program)![0])).toContain(decisions);
  });

  // A script with a shebang may use the keys of one slot alone.
  it('has no shebang', () => expect(bundleNode()).not.toContain('#!'));
});

describe('the Lua bundler', () => {
  const redis = useRedis();
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'lua-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  async function write(files: Readonly<Record<string, string>>): Promise<void> {
    for (const [file, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), text);
    }
  }

  /** What Redis answers to the program of these files. */
  async function run(files: Readonly<Record<string, string>>, ...args: string[]): Promise<unknown> {
    await write(files);
    return redis.client.eval(programOf(folder), 0, ...args);
  }

  it.each([
    ["'a -- b'", 'a -- b'],
    ['\'a --- @include "b.lua"\'', 'a --- @include "b.lua"'],
    ['"  two  blanks -- \'quoted\'  "', "  two  blanks -- 'quoted'  "],
    ['[[line one -- one\n\n   line three]]', 'line one -- one\n\n   line three'],
    ['[==[ ]] -- [[ ]==]', ' ]] -- [[ '],
    ["'$& $1 $$'", '$& $1 $$'],
    ["'SLIDING_WINDOW_LOG'", 'SLIDING_WINDOW_LOG'],
  ])('leaves the text %s as it is', async (literal, text) => {
    expect(await run({ 'program.lua': `return ${literal} -- a comment` })).toBe(text);
    expect(await run({ 'program.lua': '--- @include "part.lua"', 'part.lua': `return ${literal}` })).toBe(text);
  });

  it('includes a file relative to the file that includes it, where the directive stands', async () => {
    const files = {
      'program.lua': "local text = 'a'\ndo\n  --- @include \"parts/one.lua\"\nend\nreturn text .. 'd'",
      'parts/one.lua': 'text = text .. \'b\'\n--- @include "two.lua"\n',
      'parts/two.lua': "text = text .. 'c' -- with a comment at its end",
    };
    expect(await run(files)).toBe('abcd');
  });

  it('chooses among the files of a folder by their names, which may have any number of words', async () => {
    const files = {
      'program.lua': 'local function build(name)\n  --- @choose name "kinds/*.lua"\nend\nreturn build(ARGV[1])',
      'kinds/one.lua': "return 'one'",
      'kinds/a-name-of-five-words.lua': "return 'five'",
      'kinds/three-word-name.lua': "return build('one') .. ' and three'",
      'kinds/three-word-name/part.lua': "return 'not an own kind'",
    };
    expect(await run(files, 'three-word-name')).toBe('one and three');
    expect(await run(files, 'a-name-of-five-words')).toBe('five');
    expect(await run(files, 'one')).toBe('one');
    expect(await run(files, 'part')).toBeNull();
  });

  it.each([
    ['a directive that it does not know', '--- @inlcude "part.lua"', 'there is no directive @inlcude "part.lua"'],
    ['a directive without quotes', '--- @include part.lua', 'there is no directive @include part.lua'],
    ['a file that is not there', '--- @include "other.lua"', 'no such file'],
    ['a file that is included twice', '--- @include "part.lua"\n--- @include "part.lua"', 'is included twice'],
    ['a file that includes itself', '--- @include "program.lua"', 'is included twice'],
  ])('refuses %s', async (_, program, problem) => {
    await write({ 'program.lua': program, 'part.lua': 'return 1' });
    expect(() => programOf(folder)).toThrow(problem);
  });
});
