import { resolve } from 'node:path';
import { expect, it, jest } from '@jest/globals';
import ts from 'typescript';

jest.setTimeout(120_000); // the compiler reads the whole library

const SOURCES = resolve('libs/rate-limit/src');
const ENTRIES = ['index.ts', 'client/index.ts', 'testing/index.ts', 'throttler/index.ts'];
/** What applications write as objects. */
const WRITTEN = /(?:Options|Extras|Policy|Numbers|Choice|Calendar|Window|Removal|Change|Target)$/;
/** What they read, and the options of ioredis, which its documentation describes. */
const READ = ['BoundPolicy', 'TablePolicy', 'RedisConnectionOptions'];
const UNIT = /\d|whole number|(?:milli)?seconds?|bytes|bits|cost|tokens/i;

interface Hover {
  readonly name: string;
  readonly text: string;
  readonly isNumeric: boolean;
  readonly isOptional: boolean;
}

/** What an editor says of each member of an exported type that applications write. */
function* hovers(): Generator<Hover> {
  const { config } = ts.readConfigFile('tsconfig.json', (file) => ts.sys.readFile(file)) as { config: unknown };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, resolve('.'));
  const program = ts.createProgram(
    ENTRIES.map((entry) => `${SOURCES}/${entry}`),
    options,
  );
  const checker = program.getTypeChecker();
  for (const entry of ENTRIES) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(`${SOURCES}/${entry}`)!)!;
    for (const exported of checker.getExportsOfModule(module)) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      const isType = (symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias)) !== 0;
      if (!isType || !WRITTEN.test(symbol.name) || READ.includes(symbol.name)) continue;
      const type = checker.getDeclaredTypeOfSymbol(symbol);
      for (const member of (type.isUnion() ? type.types : [type]).flatMap((one) => one.getProperties())) {
        const [declaration] = member.declarations ?? [];
        // Of strings and arrays, of Nest and of Node.
        if (declaration?.getSourceFile().fileName.startsWith(SOURCES) !== true) continue;
        if (member.getJsDocTags().some(({ name }) => name === 'internal')) continue;
        const its = checker.getNonNullableType(checker.getTypeOfSymbol(member));
        const shown = checker.typeToString(its);
        if (shown === 'never') continue;
        yield {
          name: `${symbol.name}.${member.name}`,
          text: ts.displayPartsToString(member.getDocumentationComment(checker)),
          isNumeric: /\b(?:number|Duration|Rate)\b/.test(shown) && !shown.includes('=>'),
          isOptional: (member.flags & ts.SymbolFlags.Optional) !== 0,
        };
      }
    }
  }
}

const all = [...hovers()];

it('has a hover for each option', () => {
  expect(all.length).toBeGreaterThan(200);
  expect(new Set(all.filter(({ text }) => text === '').map(({ name }) => name))).toEqual(new Set());
});

it('says the unit or the range of each number and duration, and the default of each that is optional', () => {
  const numeric = all.filter(({ isNumeric }) => isNumeric);
  expect(numeric.length).toBeGreaterThan(80);
  const unclear = numeric.filter(
    ({ text, isOptional }) => !UNIT.test(text) || (isOptional && !/\bdefault\b/i.test(text)),
  );
  expect(new Set(unclear.map(({ name }) => name))).toEqual(new Set());
});
