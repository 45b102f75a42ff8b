import type * as TypeScript from 'typescript';
import { nodesIn, type Sources } from './sources.js';
import type { Compiler } from './typescript.js';

/** A call of `NestFactory.create`, and the like. */
export interface Creation {
  readonly path: string;
  readonly call: TypeScript.CallExpression;
  /** Whether the application answers HTTP requests. */
  readonly isHttp: boolean;
}

export interface RootModule {
  readonly path: string;
  readonly name: string;
  /** The object of its `@Module`. */
  readonly metadata: TypeScript.ObjectLiteralExpression;
}

/** Says why something cannot be read. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

/** How many files a re-exported name is followed through. */
const MOST_EXPORTS = 10;

/**
 * The calls that create the application.
 *
 * @param entry the file that `nest start` runs, if it is there
 */
export function creationsIn(sources: Sources, entry: string | undefined): Creation[] {
  const paths = entry === undefined ? sources.paths : [entry];
  const found = paths
    .filter((path) => sources.text(path).includes('NestFactory'))
    .flatMap((path) => creationsOf(sources, path));
  return found.length === 0 && entry !== undefined ? creationsIn(sources, undefined) : found;
}

function creationsOf(sources: Sources, path: string): Creation[] {
  const { ts } = sources;
  return nodesIn(ts, sources.parse(path), ts.isCallExpression).flatMap((call) => {
    const callee = call.expression;
    if (!ts.isPropertyAccessExpression(callee) || callee.expression.getText() !== 'NestFactory') return [];
    const method = callee.name.text;
    if (!['create', 'createMicroservice', 'createApplicationContext'].includes(method)) return [];
    return [{ path, call, isHttp: method === 'create' }];
  });
}

/**
 * The module that the application is created with.
 *
 * @throws {Unreadable}
 */
export function rootModuleOf(sources: Sources, creations: readonly Creation[], searched: string): RootModule {
  const { ts } = sources;
  // What serves HTTP counts first: a worker beside it may have a module of its own.
  const relevant = creations.some(({ isHttp }) => isHttp) ? creations.filter(({ isHttp }) => isHttp) : creations;
  const found = new Map<string, RootModule>();
  for (const { path, call } of relevant) {
    const [given] = call.arguments;
    const place = `${path.slice(1)}:${lineOf(call)}`;
    if (given === undefined) throw new Unreadable(`${place} gives NestFactory no module`);
    if (ts.isCallExpression(given)) {
      throw new Unreadable(`${place} creates the application from a dynamic module, ${given.getText()}`);
    }
    if (!ts.isIdentifier(given)) {
      throw new Unreadable(
        `${place} creates the application from an expression, ${given.getText()}, and not from the name of a module`,
      );
    }
    const module = classOf(sources, path, given.text);
    if (module === undefined) throw new Unreadable(`the class ${given.text}, which ${place} names, was not found`);
    const { declaration, path: at } = module;
    found.set(at, { path: at, name: given.text, metadata: metadataOf(ts, declaration, at) });
  }
  const [first, second] = found.values();
  if (first === undefined) {
    throw new Unreadable(`no root module was found: no file below ${searched} calls NestFactory.create`);
  }
  if (second !== undefined) {
    throw new Unreadable(
      `several root modules were found, ${[...found.values()].map(({ path, name }) => `${name} of ${path.slice(1)}`).join(', ')}: name the project by --project`,
    );
  }
  return first;
}

/** The object of `@Module`. */
function metadataOf(
  ts: Compiler,
  declaration: TypeScript.ClassDeclaration,
  path: string,
): TypeScript.ObjectLiteralExpression {
  const place = `${path.slice(1)}:${lineOf(declaration)}`;
  for (const { expression } of ts.getDecorators(declaration) ?? []) {
    if (!ts.isCallExpression(expression) || expression.expression.getText() !== 'Module') continue;
    const [metadata] = expression.arguments;
    if (metadata !== undefined && ts.isObjectLiteralExpression(metadata)) {
      const spread = metadata.properties.find(ts.isSpreadAssignment);
      if (spread === undefined || importsOf(ts, metadata) !== undefined) return metadata;
      throw new Unreadable(`the @Module of ${place} has ${spread.getText()}, which may have imports of its own`);
    }
    throw new Unreadable(`the @Module of ${place} gets ${metadata?.getText() ?? 'nothing'}, and not an object`);
  }
  throw new Unreadable(`the class at ${place} has no @Module`);
}

/** The property `imports` of a module. */
export function importsOf(
  ts: Compiler,
  { properties }: TypeScript.ObjectLiteralExpression,
): TypeScript.ObjectLiteralElementLike | undefined {
  return properties.find(
    ({ name }) => name !== undefined && (ts.isIdentifier(name) || ts.isStringLiteral(name)) && name.text === 'imports',
  );
}

interface Found {
  readonly path: string;
  readonly declaration: TypeScript.ClassDeclaration;
}

/** The class that a name of a file stands for: its own, or an imported one. */
function classOf(sources: Sources, path: string, name: string): Found | undefined {
  const { ts } = sources;
  const file = sources.parse(path);
  const declaration = file.statements.find((one) => ts.isClassDeclaration(one) && one.name?.text === name);
  if (declaration !== undefined) return { path, declaration: declaration as TypeScript.ClassDeclaration };
  for (const statement of file.statements) {
    if (!ts.isImportDeclaration(statement) || statement.importClause === undefined) continue;
    const { name: byDefault, namedBindings } = statement.importClause;
    const named = namedBindings !== undefined && ts.isNamedImports(namedBindings) ? namedBindings.elements : [];
    const one = named.find((element) => element.name.text === name);
    const exported =
      one === undefined ? (byDefault?.text === name ? 'default' : undefined) : (one.propertyName ?? one.name).text;
    if (exported === undefined) continue;
    const from = resolved(sources, statement.moduleSpecifier, path);
    return from === undefined ? undefined : exportedClass(sources, from, exported, MOST_EXPORTS);
  }
  return undefined;
}

/** The class that a file exports by a name: its own, or one of another file. */
function exportedClass(sources: Sources, path: string, name: string, left: number): Found | undefined {
  const { ts } = sources;
  const file = sources.parse(path);
  for (const statement of file.statements) {
    if (ts.isClassDeclaration(statement)) {
      const isDefault = statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword) === true;
      if ((name === 'default' && isDefault) || (statement.name?.text === name && !isDefault))
        return { path, declaration: statement };
    }
    if (ts.isExportAssignment(statement) && name === 'default' && ts.isIdentifier(statement.expression)) {
      return classOf(sources, path, statement.expression.text);
    }
    if (!ts.isExportDeclaration(statement) || left === 0) continue;
    const { exportClause, moduleSpecifier } = statement;
    let own = name;
    if (exportClause !== undefined) {
      const one = ts.isNamedExports(exportClause)
        ? exportClause.elements.find((element) => element.name.text === name)
        : undefined;
      if (one === undefined) continue;
      own = (one.propertyName ?? one.name).text;
    }
    if (moduleSpecifier === undefined) return classOf(sources, path, own);
    const from = resolved(sources, moduleSpecifier, path);
    const found = from === undefined ? undefined : exportedClass(sources, from, own, left - 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

function resolved(sources: Sources, specifier: TypeScript.Expression, from: string): string | undefined {
  return sources.ts.isStringLiteral(specifier) ? sources.resolve(specifier.text, from) : undefined;
}

/** From 1. */
export function lineOf(node: TypeScript.Node): number {
  return node.getSourceFile().getLineAndCharacterOfPosition(node.getStart()).line + 1;
}
