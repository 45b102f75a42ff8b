// `npm run public-api`: writes what the entry points of the packages export, each with the names and types of its members, into the file
// `public-api.txt` of each package. A test compares it: a change of the public API shows in a diff.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';
import { optionsOf } from './command-line.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** The folders of the packages whose public API is written down. */
export const PACKAGES = ['libs/floodgate', 'libs/nest', 'libs/client'];

/** The sources of the entry points of all packages that have types, by the names that applications import. */
export function typedEntries(): ReadonlyMap<string, string> {
  return new Map(PACKAGES.flatMap((folder) => [...entriesOf(folder).files]));
}

/** The public API of each package, by the file that has it. */
export function publicApis(): ReadonlyMap<string, string> {
  const entries = PACKAGES.map((folder) => ({ folder, ...entriesOf(folder) }));
  const config = ts.getParsedCommandLineOfConfigFile(
    join(ROOT, 'tsconfig.json'),
    { noEmit: true },
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic },
  )!;
  const program = ts.createProgram(
    entries.flatMap(({ files }) => [...files.values()]),
    config.options,
  );
  return new Map(
    entries.map(({ folder, files }) => [
      `${folder}/public-api.txt`,
      [...files].map(([name, file]) => apiOf(name, program, program.getSourceFile(file)!)).join('\n'),
    ]),
  );
}

/** The entry points that have types, by the names that applications import. */
function entriesOf(folder: string): { readonly files: ReadonlyMap<string, string> } {
  const { name, exports } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as {
    name: string;
    exports: Record<string, string | { import: string | object }>;
  };
  const typed = Object.entries(exports).filter(
    ([, entry]) => typeof entry === 'object' && typeof entry.import === 'object',
  );
  const files = typed.map(([path]): [string, string] => {
    const entry = path === '.' ? 'index' : path.slice(2);
    return [path === '.' ? name : `${name}/${entry}`, join(ROOT, folder, 'src', `${entry}.ts`)];
  });
  return { files: new Map(files) };
}

function apiOf(name: string, program: ts.Program, source: ts.SourceFile): string {
  const checker = program.getTypeChecker();
  const exported = checker
    .getExportsOfModule(checker.getSymbolAtLocation(source)!)
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const lines = exported.flatMap((symbol) => described(checker, symbol, source));
  return `# ${name}: ${exported.length} names\n\n${lines.join('\n')}\n`;
}

function described(checker: ts.TypeChecker, exported: ts.Symbol, source: ts.SourceFile): string[] {
  const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
  const text = (type: ts.Type): string => checker.typeToString(type, source).replaceAll(/\s+/g, ' ');
  if (symbol.flags & (ts.SymbolFlags.Function | ts.SymbolFlags.Variable)) {
    return [`${exported.name}: ${text(checker.getTypeOfSymbol(symbol))}`];
  }
  const isClass = (symbol.flags & ts.SymbolFlags.Class) !== 0;
  const isInterface = (symbol.flags & ts.SymbolFlags.Interface) !== 0;
  const declared = checker.getDeclaredTypeOfSymbol(symbol);
  if (!isClass && !isInterface) {
    const { type } = symbol.declarations![0] as ts.TypeAliasDeclaration;
    return [
      `type ${exported.name} = ${type
        .getText()
        .replaceAll(/\/\*.*?\*\/|\/\/[^\n]*/gs, '')
        .replaceAll(/\s+/g, ' ')}`,
    ];
  }
  const members = isClass ? [...declared.getProperties(), ...statics(checker, symbol)] : declared.getProperties();
  return [`${isClass ? 'class' : 'interface'} ${exported.name}`, ...members.filter(isPublic).map(member)];

  function member(one: ts.Symbol): string {
    const optional = one.flags & ts.SymbolFlags.Optional ? '?' : '';
    return `  ${one.name}${optional}: ${text(checker.getTypeOfSymbol(one))}`;
  }
}

function statics(checker: ts.TypeChecker, symbol: ts.Symbol): readonly ts.Symbol[] {
  return checker
    .getTypeOfSymbol(symbol)
    .getProperties()
    .filter(({ name }) => name !== 'prototype');
}

/** Whether users see a member: neither private nor `@internal`, and not of Node or Nest. */
function isPublic(member: ts.Symbol): boolean {
  const [declaration] = member.declarations ?? [];
  if (declaration === undefined || !declaration.getSourceFile().fileName.startsWith(join(ROOT, 'libs/'))) return false;
  if (member.name.startsWith('#') || member.name.startsWith('__')) return false;
  if (member.getJsDocTags().some(({ name }) => name === 'internal')) return false;
  return (ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Private) === 0;
}

function onUnRecoverableConfigFileDiagnostic({ messageText }: ts.Diagnostic): never {
  throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n'));
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  optionsOf('npm run public-api');
  for (const [file, text] of publicApis()) writeFileSync(join(ROOT, file), text);
}
