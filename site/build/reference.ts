// Writes the pages of the reference that come from the code: the module's options, and what each entry point exports.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { MODULE_OPTIONS } from '../../libs/nest/src/options/options-table.js';
import type { OptionRule } from '../../libs/floodgate/src/util/option-rules.js';
import { typedEntries } from '../../tools/public-api.js';
import { cached } from './cache.js';
import { fitted } from './fit.js';
import { compilerOptions } from './hovers.js';
import { GENERATED, ROOT } from './pages.js';

interface Entry {
  readonly name: string;
  readonly source: string;
  readonly page: string;
  readonly about: string;
  /** Of an entry point whose types are too many for one page: the page of the types. */
  readonly typesPage?: string;
}

const SERVER = 'see [Without Nest](/docs/without-nest.md).';
/** What each entry point has, in the order in which pages name them. */
const ABOUT: Readonly<Record<string, string>> = {
  'nestjs-floodgate': 'The module, the decorators, the limiter, stores and identities.',
  'nestjs-floodgate/llm': 'Limits language models by requests and tokens: see [Language models](/docs/llm.md).',
  'nestjs-floodgate/testing':
    'A virtual clock and a store for tests: [Testing](/docs/testing.md) shows how to use them.',
  'nestjs-floodgate/throttler': 'The names of @nestjs/throttler on Floodgate: see [Migration](/docs/migration.md).',
  'floodgate-client': 'A fetch that honours limits: see [The client](/docs/client.md).',
  floodgate: `The engine without Nest, which \`nestjs-floodgate\` exports as well: ${SERVER}`,
  'floodgate/express': `Limits the requests of Express: ${SERVER}`,
  'floodgate/fastify': `Limits the requests of Fastify: ${SERVER}`,
  'floodgate/hono': `Limits the requests of Hono: ${SERVER}`,
  'floodgate/http': `Limits the requests of Node's own server, and has what requests have in common with all servers: ${SERVER}`,
  'floodgate/llm': 'Limits language models by requests and tokens: see [Language models](/docs/llm.md).',
  'floodgate/redis': 'A store on a client of Redis that you open: see [Redis](/docs/redis.md).',
  'floodgate/testing': 'A virtual clock and a store for tests: [Testing](/docs/testing.md) shows how to use them.',
};
/** The entry points whose types are too many for one page. */
const LARGE = ['nestjs-floodgate', 'floodgate'];

const ENTRIES: readonly Entry[] = allEntries();
export const MAIN = ENTRIES[0]!;

function allEntries(): Entry[] {
  const sources = typedEntries();
  const missing = [...sources.keys()].find((name) => !Object.hasOwn(ABOUT, name));
  if (missing !== undefined) throw new Error(`site/build/reference.ts says nothing about ${missing}`);
  return Object.entries(ABOUT).map(([name, about]) => {
    const page = name.replace(/^(?:nestjs-floodgate\/?|floodgate-(?=client))/, '').replace('/', '-');
    const address = page === '' ? 'api' : `api-${page}`;
    const entry = { name, about, source: relative(ROOT, sources.get(name)!), page: address };
    return LARGE.includes(name) ? { ...entry, typesPage: `${address}-types` } : entry;
  });
}

/** In the order of a page. */
const KINDS = ['Decorators and functions', 'Classes', 'Errors', 'Constants', 'Types'] as const;
type Kind = (typeof KINDS)[number];

/** What stands beside the options and the table does not know: the module's `identity` is `[ipIdentity()]` where none is given. */
const DEFAULTS: Readonly<Record<string, string>> = { identity: '[ipIdentity()]' };

export async function writeReference(): Promise<void> {
  const pages = cached('reference', ENTRIES, allPages);
  const folder = join(ROOT, GENERATED, 'reference');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(pages)) writeFileSync(join(folder, `${name}.md`), await fitted(text));
}

function allPages(): Record<string, string> {
  const program = declarations();
  const checker = program.getTypeChecker();
  const api = ENTRIES.flatMap((entry) => apiPages(entry, program, checker));
  return { ...Object.fromEntries(api), 'module-options': optionsPage(program, checker) };
}

/** What a build of the package declares: without private members and bodies, with the types that TypeScript finds. */
export function declarations(): ts.Program {
  const options = compilerOptions();
  const emitted = new Map<string, string>();
  const sources = ts.createProgram(
    ENTRIES.map(({ source }) => join(ROOT, source)),
    { ...options, declaration: true, emitDeclarationOnly: true, stripInternal: true, sourceMap: false, outDir: ROOT },
  );
  sources.emit(undefined, (file, text) => emitted.set(file, text));
  const host = ts.createCompilerHost(options);
  const base = ts.createCompilerHost(options);
  host.fileExists = (file) => emitted.has(file) || (!isSource(file) && base.fileExists(file));
  host.readFile = (file) => emitted.get(file) ?? base.readFile(file);
  host.getSourceFile = (file, version) => {
    const text = host.readFile(file);
    return text === undefined ? undefined : ts.createSourceFile(file, text, version, true);
  };
  const paths = Object.fromEntries(
    Object.entries(options.paths ?? {}).map(([name, files]) => [name, files.map((file) => declared(file))]),
  );
  const program = ts.createProgram(
    ENTRIES.map(({ source }) => join(ROOT, declared(source))),
    { ...options, paths, noEmit: true },
    host,
  );
  const source = program.getSourceFiles().find(({ fileName }) => isSource(fileName));
  if (source !== undefined) throw new Error(`the reference would show the code of ${source.fileName}`);
  return program;
}

/** Only what was emitted is read of the packages: the sources have bodies. */
const isSource = (file: string): boolean => /\/libs\/[\w-]+\/src\/.*(?<!\.d)\.ts$/.test(file);
const declared = (source: string): string => source.replace(/\.ts$/, '.d.ts');

export function exportsOf(entry: Pick<Entry, 'source'>, program: ts.Program, checker: ts.TypeChecker): ts.Symbol[] {
  const file = program.getSourceFile(join(ROOT, declared(entry.source)));
  const module = file && checker.getSymbolAtLocation(file);
  if (module === undefined) throw new Error(`${entry.source} has no exports`);
  return checker.getExportsOfModule(module);
}

export const resolved = (symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol =>
  symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;

function apiPages(entry: Entry, program: ts.Program, checker: ts.TypeChecker): [page: string, text: string][] {
  const byKind = new Map<Kind, string[]>(KINDS.map((kind) => [kind, []]));
  const symbols = exportsOf(entry, program, checker).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  for (const symbol of symbols) {
    const own = resolved(symbol, checker);
    byKind.get(kindOf(own))!.push(section(symbol.name, own, checker));
  }
  const others = ENTRIES.filter((one) => one !== entry).map(({ name, page }) => `[${name}](./${page}.md)`);
  const { name, page, typesPage, about } = entry;
  const partsOf = (kinds: readonly Kind[]): string[] =>
    kinds.flatMap((kind) =>
      byKind.get(kind)!.length > 0 ? [`## ${headingOf(kind, name)}`, ...byKind.get(kind)!] : [],
    );
  const pageOf = (title: string, words: string, parts: readonly string[]): string =>
    [GENERATED_HERE, `# ${title}`, words, ...parts, ''].join('\n\n');
  const every = `Every export, from the types of the package.${/^floodgate\b(?!-)/.test(name) ? OF_MODULE : ''}`;
  const rest = `Other entry points: ${others.join(', ')}.`;
  if (typesPage === undefined) return [[page, pageOf(name, `${about} ${every} ${rest}`, partsOf(KINDS))]];
  const words = `${about} ${every} [Its types](./${typesPage}.md) have a page of their own. ${rest}`;
  const values = partsOf(KINDS.filter((kind) => kind !== 'Types'));
  return [
    [page, pageOf(name, words, values)],
    [
      typesPage,
      pageOf(
        `Types of ${name}`,
        `What [${name}](./${page}.md) exports beside its values. ${every}`,
        partsOf(['Types']),
      ),
    ],
  ];
}

/** Behind the engine's pages, whose docs the module shares. */
const OF_MODULE = ' An option of the module is one of `createLimiter` here.';

function headingOf(kind: Kind, entry: string): string {
  return kind === 'Decorators and functions' && !entry.startsWith('nestjs-') ? 'Functions' : kind;
}

export function kindOf(symbol: ts.Symbol): Kind {
  if (symbol.flags & ts.SymbolFlags.Class)
    return symbol.name.endsWith('Error') || symbol.name.endsWith('Exception') ? 'Errors' : 'Classes';
  if (symbol.flags & ts.SymbolFlags.Function) return 'Decorators and functions';
  if (symbol.flags & ts.SymbolFlags.Variable) {
    const [declaration] = symbol.declarations ?? [];
    const isCallable =
      declaration &&
      ts.isVariableDeclaration(declaration) &&
      declaration.type &&
      ts.isFunctionTypeNode(declaration.type);
    return isCallable ? 'Decorators and functions' : 'Constants';
  }
  return 'Types';
}

/** There is no file to edit. */
const GENERATED_HERE = '---\neditLink: false\n---';

const printer = ts.createPrinter({ removeComments: true });

function section(name: string, symbol: ts.Symbol, checker: ts.TypeChecker): string {
  const own = symbol.declarations ?? [];
  const signatures = own.map((one) =>
    printer
      .printNode(ts.EmitHint.Unspecified, visible(statementOf(one)), one.getSourceFile())
      .replace(/^export (?:declare )?/, ''),
  );
  const members = own.flatMap((one) =>
    ts.isClassDeclaration(one) || ts.isInterfaceDeclaration(one) ? membersOf(one, checker) : [],
  );
  return [
    `### ${name}`,
    docOf(symbol, checker),
    `\`\`\`ts\n${[...new Set(signatures)].join('\n')}\n\`\`\``,
    members.join('\n'),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** The statement of a variable says `const`. */
function statementOf(node: ts.Node): ts.Node {
  return ts.isVariableDeclaration(node) ? node.parent.parent : node;
}

export const isHidden = (member: ts.Node): boolean =>
  (ts.canHaveModifiers(member) &&
    ts.getModifiers(member)?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword) === true) ||
  (ts.isPropertyDeclaration(member) && ts.isPrivateIdentifier(member.name));

function visible(node: ts.Node): ts.Node {
  if (!ts.isClassDeclaration(node)) return node;
  const { modifiers, name, typeParameters, heritageClauses, members } = node;
  const shown = members.filter((member) => !isHidden(member));
  return ts.factory.updateClassDeclaration(node, modifiers, name, typeParameters, heritageClauses, shown);
}

function membersOf(node: ts.ClassDeclaration | ts.InterfaceDeclaration, checker: ts.TypeChecker): string[] {
  const named = (node.members as ts.NodeArray<ts.ClassElement | ts.TypeElement>).filter(
    (one) => one.name && !isHidden(one),
  );
  const seen = new Set<string>();
  return named.flatMap((member) => {
    const symbol = checker.getSymbolAtLocation(member.name!);
    const text = symbol === undefined ? '' : docOf(symbol, checker);
    const name = member.name!.getText();
    if (text === '' || seen.has(name)) return [];
    seen.add(name);
    return [`- \`${name}\`: ${text.replaceAll('\n', '\n  ')}`];
  });
}

/** A docstring as Markdown. */
function docOf(symbol: ts.Symbol, checker: ts.TypeChecker): string {
  const text = ts.displayPartsToString(symbol.getDocumentationComment(checker));
  const tags = symbol.getJsDocTags(checker).flatMap(({ name, text: parts }) => {
    const value = ts.displayPartsToString(parts).trim().replaceAll('\\@', '@');
    if (value === '') return [];
    if (name === 'example') return [`\`\`\`ts\n${value.replace(/^```\w*\n|\n```$/g, '')}\n\`\`\``];
    if (name === 'throws') return [`Throws: ${prose(value.replace(/^\{(\w+)\}/, '`$1`'))}`];
    if (name === 'returns') return [`Returns: ${prose(value)}`];
    if (name === 'param') return [`\`${/^\S+/.exec(value)![0]}\`: ${prose(value.replace(/^\S+\s*-?\s*/, ''))}`];
    if (name === 'deprecated') return [`**Deprecated.** ${prose(value)}`];
    return [];
  });
  return [prose(text), ...tags].filter((part) => part !== '').join('\n\n');
}

/** Pages are Vue templates: what looks like an element is text. A page that is named is a link. */
export function prose(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, i) =>
      i % 2 === 1
        ? part
        : part
            .replaceAll('<', '&lt;')
            .replaceAll('{{', '&#123;&#123;')
            .replaceAll(/(?<![\w/])docs\/([\w-]+)\.md/g, (_, page: string) => `[docs/${page}.md](/docs/${page}.md)`),
    )
    .join('');
}

function optionsPage(program: ts.Program, checker: ts.TypeChecker): string {
  const symbol = exportsOf(MAIN, program, checker).find(({ name }) => name === 'RateLimitModuleOptions');
  const type = checker.getDeclaredTypeOfSymbol(resolved(symbol!, checker));
  const sections = Object.entries<OptionRule>(MODULE_OPTIONS).map(([name, rule]) => {
    const member = type.getProperty(name);
    const [declaration] = member?.declarations ?? [];
    if (member === undefined || declaration === undefined) throw new Error(`RateLimitModuleOptions has no ${name}`);
    const shown = DEFAULTS[name] ?? (rule.default === undefined ? undefined : literal(rule.default));
    return [
      `## ${name}`,
      docOf(member, checker),
      [
        `- Type: \`${(declaration as ts.PropertySignature).type!.getText().replaceAll(/\s+/g, ' ').replaceAll('`', "'")}\``,
        `- Right is ${prose(rule.wanted)}.`,
        shown === undefined ? '- No default.' : `- Default: \`${shown}\``,
      ].join('\n'),
    ].join('\n\n');
  });
  return [
    GENERATED_HERE,
    '# Module options',
    'The options of `RateLimitModule.forRoot({ ... })`, from the table in the code that the module itself reads. A wrong value stops the ' +
      'boot. [The module](/docs/module.md) shows them at work.',
    ...sections,
    '',
  ].join('\n\n');
}

function literal(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  return typeof value === 'number' ? value.toLocaleString('en-US').replaceAll(',', '_') : JSON.stringify(value);
}
