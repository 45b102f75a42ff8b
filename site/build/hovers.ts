import { join } from 'node:path';
import ts from 'typescript';
import { cached } from './cache.js';
import { ROOT } from './pages.js';

/** A block as the page shows it, and the module that the tests make of it. */
export interface Sample {
  readonly shown: string;
  readonly module: string;
}

/** What an editor says of a name in a block. */
interface Hover {
  /** Where the name stands in the block. */
  readonly start: number;
  readonly end: number;
  readonly type: string;
  readonly docs: string;
}

/** Of the highlighter's transformer, what is used here. */
interface Highlighting {
  decorations?: { start: number; end: number; properties: Readonly<Record<string, string>> }[];
}

/** Samples stand here, in no file: they import what the repository's own code can import. */
const FOLDER = join(ROOT, 'site/.samples');
/** Of types that say more than a reader reads. */
const LONGEST_TYPE = 240;

/**
 * Notes what an editor says of the library's names in the samples, where each stands first, as attributes of the highlighted code: the theme
 * shows them. One language service reads all samples at once, so that TypeScript checks the library and Nest a single time.
 *
 * They are attributes, and no components, so that a page's script need not hold its code again.
 */
export function hoversOf(samples: readonly Sample[]): {
  name: string;
  preprocess(code: string, to: Highlighting): void;
} {
  let known: Readonly<Record<string, readonly Hover[]>> | undefined;
  return {
    name: 'floodgate:hovers',
    preprocess(code, to) {
      known ??= cached('hovers', samples, () => allHovers(samples));
      const hovers = known[code] ?? [];
      to.decorations ??= [];
      to.decorations.push(
        ...hovers.map(({ start, end, type, docs }) => ({
          start,
          end,
          properties: { class: 'has-type', 'data-type': type, 'data-docs': docs },
        })),
      );
    },
  };
}

function allHovers(samples: readonly Sample[]): Record<string, Hover[]> {
  const files = samples.map((sample, i) => ({ ...sample, file: join(FOLDER, `${i}.ts`) }));
  const modules = new Map(files.map(({ file, module }) => [file, module]));
  const options = compilerOptions();
  const service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => [...modules.keys()],
    getScriptVersion: () => '1',
    getScriptSnapshot: (file) => {
      const text = modules.get(file) ?? ts.sys.readFile(file);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => ROOT,
    getDefaultLibFileName: (of) => ts.getDefaultLibFilePath(of),
    fileExists: (file) => modules.has(file) || ts.sys.fileExists(file),
    readFile: (file) => modules.get(file) ?? ts.sys.readFile(file),
    directoryExists: (folder) => folder === FOLDER || ts.sys.directoryExists(folder),
    getDirectories: (folder) => ts.sys.getDirectories(folder),
  });
  return Object.fromEntries(files.map((one) => [one.shown, hoversIn(one, service)]));
}

function hoversIn({ shown, module, file }: Sample & { readonly file: string }, service: ts.LanguageService): Hover[] {
  const begin = module.indexOf(shown);
  const program = service.getProgram()!;
  const source = program.getSourceFile(file)!;
  const checker = program.getTypeChecker();
  const found = new Map<string, Hover>();
  const visit = (node: ts.Node): void => {
    const at = node.getStart(source) - begin;
    if (ts.isIdentifier(node) && at >= 0 && at + node.text.length <= shown.length && !isForeign(node, checker)) {
      const info = service.getQuickInfoAtPosition(file, node.getStart(source));
      // Of an import, the first line is the thing itself.
      const type = ts
        .displayPartsToString(info?.displayParts)
        .replace(/^\((?:alias|local var|parameter)\) /, '')
        .replace(/\nimport .*$/, '');
      const key = `${node.text} ${type}`;
      // A page with every name of its code would weigh a megabyte.
      const isDocumented = info?.documentation !== undefined && info.documentation.length > 0;
      if (isDocumented && !found.has(key)) found.set(key, hoverOf(node.text, at, type, info));
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return [...found.values()];
}

/** Of JavaScript, Node and other packages. */
function isForeign(node: ts.Identifier, checker: ts.TypeChecker): boolean {
  const [declaration] = checker.getSymbolAtLocation(node)?.declarations ?? [];
  return declaration !== undefined && /\/node_modules\//.test(declaration.getSourceFile().fileName);
}

function hoverOf(name: string, start: number, type: string, info: ts.QuickInfo): Hover {
  return {
    start,
    end: start + name.length,
    type: type.length > LONGEST_TYPE ? `${type.slice(0, LONGEST_TYPE)} ...` : type,
    // The reference has the rest, and rxjs has pictures there.
    docs: ts.displayPartsToString(info.documentation).split('\n\n')[0]!,
  };
}

/** The repository's: `nestjs-floodgate` is its sources, so that nothing has to be built before. */
export function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (file) => ts.sys.readFile(file)) as {
    config: unknown;
  };
  return ts.parseJsonConfigFileContent(config, ts.sys, ROOT).options;
}
