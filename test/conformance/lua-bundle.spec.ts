import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ALGORITHM_NAMES } from '../../libs/floodgate/src/algorithms/algorithms.js';
import {
  DECISIONS,
  LEAN,
  OVERRIDES,
  REPORTS,
  RESERVATIONS,
} from '../../libs/floodgate/src/stores/redis/batch/programs.generated.js';
import { useRedis } from '../support/redis-fixture.js';

interface Bundler {
  readonly TARGET: string;
  readonly bundle: () => string;
  readonly programOf: (path: string, algorithm?: string) => string;
}

// The bundler is plain JavaScript without types, so that npm can run it before anything is built.
const bundler = (await import(pathToFileURL(resolve('lua/bundle.js')).href)) as Bundler;
const { TARGET, bundle, programOf } = bundler;
const { stripped } = (await import(pathToFileURL(resolve('lua/strip.js')).href)) as {
  readonly stripped: (program: string) => string;
};

/** The program of a policy with `prefetch`, which is another one than that of its algorithm. */
const PREFETCHED = ['prefetch-bucket'];
const PROGRAMS = [...ALGORITHM_NAMES, ...PREFETCHED];

describe('the Lua program in the library', () => {
  it('is what lua/bundle.js makes of its sources (npm run lua:bundle)', () => {
    expect(readFileSync(TARGET, 'utf8')).toBe(bundle());
  });

  it.each(['algorithms', 'lean'])('has a file in lua/%s for each algorithm of the list, and no other', (folder) => {
    const files = readdirSync(`lua/${folder}`).filter((file) => file.endsWith('.lua'));
    expect(files.map((file) => basename(file, '.lua'))).toEqual(PROGRAMS.toSorted());
  });

  it.each(PROGRAMS)('has a branch for %s, also in its lean program, and no directive left', (name) => {
    for (const program of [programOf('lua/program.lua'), programOf('lua/lean.lua', name)]) {
      expect(program).toContain(`if algorithm == '${name}' then\n`);
      expect(program).not.toMatch(/^\s*---|ALGORITHM/m);
    }
  });

  // A script with a shebang may use the keys of one slot alone.
  it('has no shebang', () => expect(bundle()).not.toContain('#!'));
});

describe('a program without its comments', () => {
  const redis = useRedis();

  it.each([
    [
      'comments and indentation',
      '  local a = 1 -- one\n\n  -- alone\n    return a -- [[ x ]]\n',
      'local a=1\nreturn a',
    ],
    ['a long comment', 'return 1 --[==[ two\n ]] lines ]==] + 1', 'return 1+1'],
    [
      'operators',
      "local a, b = 3, { x = 2 }\nif (a >= 2) and a ~= 5 then return { a - - b.x, a .. 1 .. ' = ( ', #'a , b', a * 2 / 1 < 9 } end",
      "local a,b=3,{x=2}\nif(a>=2)and a~=5 then return{a - - b.x,a .. 1 .. ' = ( ',#'a , b',a*2/1<9}end",
    ],
    ['dashes in strings', `return '-- \\' --' .. "-- \\" 'x" -- end`, `return '-- \\' --' .. "-- \\" 'x"`],
    ['dashes and spaces in long strings', 'return [=[ a\n  -- b ]] ]=] -- c', 'return [=[ a\n  -- b ]] ]=]'],
  ])('keeps what it means: %s', async (_, program, expected) => {
    expect(stripped(program)).toBe(expected);
    expect(await redis.client.eval(expected, 0)).toEqual(await redis.client.eval(program, 0));
  });

  it('has neither comments nor empty lines', () => {
    for (const text of [DECISIONS, OVERRIDES, REPORTS, RESERVATIONS, ...Object.values(LEAN)]) {
      expect(text).not.toMatch(/^\s|^--|\n\s|\s\n|\n--| -- /);
    }
  });
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
    return redis.client.eval(programOf(join(folder, 'program.lua')), 0, ...args);
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

  it('puts a name in the place of ALGORITHM, in paths and in texts', async () => {
    await write({
      'lean.lua': '--- @include "kinds/ALGORITHM.lua"\nreturn {"ALGORITHM", kind}',
      'kinds/a-b.lua': 'local kind = 1',
    });
    expect(await redis.client.eval(programOf(join(folder, 'lean.lua'), 'a-b'), 0)).toEqual(['a-b', 1]);
  });

  it.each([
    ['a directive that it does not know', '--- @inlcude "part.lua"', 'there is no directive @inlcude "part.lua"'],
    ['a directive without quotes', '--- @include part.lua', 'there is no directive @include part.lua'],
    ['a file that is not there', '--- @include "other.lua"', 'no such file'],
    ['a file that is included twice', '--- @include "part.lua"\n--- @include "part.lua"', 'is included twice'],
    ['a file that includes itself', '--- @include "program.lua"', 'is included twice'],
  ])('refuses %s', async (_, program, problem) => {
    await write({ 'program.lua': program, 'part.lua': 'return 1' });
    expect(() => programOf(join(folder, 'program.lua'))).toThrow(problem);
  });
});
