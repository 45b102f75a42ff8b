// Bundles each Lua program into one TypeScript module that the library imports: a path that is read at run time would break
// once the library is built. Run `npm run lua:bundle` after every change of a Lua file; a test compares the two.
//
// A line of a Lua file can be a directive. Paths are relative to the file:
//   --- @include "file.lua"            the text of that file
//   --- @choose name "folder/*.lua"    for each file of the folder, by its name: if name == 'file' then <its text> end
//   --- @algorithm, --- @asked         only in lean.lua: the algorithm that the program is for, and what it is asked
//
// All other text is taken as it is. The comments stay: without them the program has 13 KB instead of 22, which no decision
// notices, because Redis gets the program once, and to strip comments from strings and long brackets takes a tokenizer.
//
// Of lean.lua a program is made for each algorithm, and functions are put in the place of their calls: see inline.js.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inlined } from './inline.js';

const FOLDER = dirname(fileURLToPath(import.meta.url));

export const TARGET = join(FOLDER, '../libs/rate-limit/src/stores/redis/program.generated.ts');

/** The program for one node of a Cluster: that of the decisions, with the files of this folder in the place of their namesakes. */
export const NODE_FOLDER = join(FOLDER, 'node');
export const NODE_TARGET = join(FOLDER, '../libs/rate-limit/src/stores/redis/node-program.generated.ts');

/** The program that keeps overrides is one of its own. */
export const OVERRIDES_FOLDER = join(FOLDER, 'overrides');
export const OVERRIDES_TARGET = join(FOLDER, '../libs/rate-limit/src/stores/redis/overrides.generated.ts');

const DIRECTIVE = /^[ \t]*---[ \t]*@(.*)$/gm;
const INCLUDE = /^include "([^"*]+)"$/;
const CHOOSE = /^choose (\w+) "([^"*]+)\/\*\.lua"$/;

/** The text of a Lua file, with its directives carried out. A file can be included once. */
function expand(wanted, seen, instead = (path) => path) {
  const path = instead(wanted);
  if (seen.has(path)) throw new Error(`${path} is included twice`);
  seen.add(path);
  return expandText(readFileSync(path, 'utf8'), path, seen, instead);
}

/** The text of a file, or a part of it, with its directives carried out. */
function expandText(text, path, seen, instead = (wanted) => wanted) {
  return text.replace(DIRECTIVE, (_, directive) => {
    const [, file] = INCLUDE.exec(directive.trim()) ?? [];
    if (file !== undefined) return expand(join(dirname(path), file), seen, instead).trimEnd();
    const [, name, folder] = CHOOSE.exec(directive.trim()) ?? [];
    if (folder !== undefined) return choose(name, join(dirname(path), folder), seen, instead);
    throw new Error(`${path}: there is no directive @${directive}`);
  });
}

function choose(name, folder, seen, instead) {
  const files = readdirSync(folder).filter((file) => file.endsWith('.lua'));
  const branches = files.toSorted().map((file) => {
    const text = expand(join(folder, file), seen, instead).trimEnd();
    return `if ${name} == '${basename(file, '.lua')}' then\n${text}\nend`;
  });
  return branches.join('\n');
}

/** The Lua program that `program.lua` in a folder stands for. */
export function programOf(folder = FOLDER) {
  return expand(join(folder, 'program.lua'), new Set());
}

/** The program of the decisions for one node of a Cluster. */
export function nodeProgram() {
  const files = new Set(readdirSync(NODE_FOLDER));
  const instead = (path) =>
    dirname(path) === FOLDER && files.has(basename(path)) ? join(NODE_FOLDER, basename(path)) : path;
  const texts = [join(NODE_FOLDER, 'arguments.lua'), join(FOLDER, 'program.lua')];
  const seen = new Set();
  return texts.map((path) => expand(path, seen, instead)).join('\n');
}

const ASKED = /--- @asked/;
const ALGORITHM = /^[ \t]*---[ \t]*@algorithm$/m;
/** The last statement of an algorithm that is a table of its functions. */
const TABLE = /^return \{([^{}]*)\}\s*$/m;
/** How lean.lua names the functions of the algorithm. */
const FUNCTION = /\balgorithm\.(\w+)/g;
const BUILT = /\bbuild\('([\w-]+)'\)/g;

/**
 * The program for one row of one charge of an algorithm, from `lean.lua` in a folder.
 *
 * @param asked the file of the folder `lean` that says what is asked
 */
export function leanOf(name, asked, folder = FOLDER) {
  return specialised(name, asked, folder, join(folder, 'lean.lua'));
}

/** The algorithms whose rows of a batch on a node of a Cluster have a program: those that only GET and SET. */
const ROWS = ['fixed-window', 'sliding-window-counter', 'token-bucket'];

/** The program for rows of one policy on a node of a Cluster. */
export function rowsOf(name) {
  return specialised(name, undefined, FOLDER, join(NODE_FOLDER, 'rows.lua'));
}

function specialised(name, asked, folder, path) {
  const source = readFileSync(path, 'utf8').replace(ASKED, `--- @include "lean/${asked}.lua"`);
  const [before, after] = source.split(ALGORITHM);
  const seen = new Set([path]);
  const [head, tail] = [before, after].map((part) => expandText(part, path, seen));
  const text = textOf(name, folder);
  const [table, fields] = TABLE.exec(text) ?? [];
  if (fields === undefined) {
    const others = builtBy(text, folder).map(
      (other) => `if algorithm == '${other}' then\n${textOf(other, folder)}\nend\n`,
    );
    const build = `local function build(algorithm)\n${others.join('')}end\n`;
    return inlined(`${head}${build}local algorithm = (function()\n${text}\nend)()\n${tail}`);
  }
  const functions = new Map(Array.from(fields.matchAll(/(\w+) = ([\w.]+)/g), ([, field, value]) => [field, value]));
  const used = new Set(Array.from(tail.matchAll(FUNCTION), ([, field]) => field));
  const locals = Array.from(used, (field) => `local its_${field} = ${functions.get(field) ?? 'nil'}\n`);
  return inlined(head + text.replace(table, locals.join('')) + tail.replace(FUNCTION, 'its_$1'));
}

function textOf(algorithm, folder) {
  return expand(join(folder, 'algorithms', `${algorithm}.lua`), new Set());
}

/** The algorithms that an algorithm builds upon, and those that these build upon. */
function builtBy(text, folder, found = new Set()) {
  for (const [, name] of text.matchAll(BUILT)) {
    if (found.has(name)) continue;
    found.add(name);
    builtBy(textOf(name, folder), folder, found);
  }
  return [...found];
}

/** The module that the library imports for the program in a folder. */
export function bundle(folder = FOLDER) {
  const files =
    folder === FOLDER ? readdirSync(join(folder, 'algorithms')).filter((file) => file.endsWith('.lua')) : [];
  const names = files.map((file) => basename(file, '.lua')).toSorted();
  const lean = Object.fromEntries(
    names.map((name) => [name, { one: leanOf(name, 'one', folder), any: leanOf(name, 'any', folder) }]),
  );
  return `// Generated by \`npm run lua:bundle\` from lua/. Do not edit.
export const PROGRAM =
  ${JSON.stringify(programOf(folder))};
${folder === FOLDER ? `export const LEAN_PROGRAMS =\n  ${JSON.stringify(lean)} as const;\n` : ''}`;
}

/** The module of the program for one node of a Cluster. */
export function bundleNode() {
  return `// Generated by \`npm run lua:bundle\` from lua/. Do not edit.
export const PROGRAM =
  ${JSON.stringify(nodeProgram())};
export const ROWS_PROGRAMS =
  ${JSON.stringify(Object.fromEntries(ROWS.map((name) => [name, rowsOf(name)])))} as const;
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(TARGET, bundle());
  writeFileSync(NODE_TARGET, bundleNode());
  writeFileSync(OVERRIDES_TARGET, bundle(OVERRIDES_FOLDER));
}
