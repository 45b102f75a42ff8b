import { type ClassDeclaration, Node, type Project, type SourceFile } from 'ts-morph';
import { Barrels } from './barrels.js';
import { type Source, sourcesOf, usesOf } from './bindings.js';
import { guardClassesOf } from './guard-classes.js';
import { type ModuleCall, readModuleCall } from './module-config.js';
import type { Notes } from './notes.js';
import { inOrder } from './throttlers.js';

/** A file with names of @nestjs/throttler. */
export interface ThrottlerFile {
  readonly file: SourceFile;
  readonly sources: readonly Source[];
}

/** What is known of the whole application before anything is changed. */
export interface App {
  readonly files: readonly ThrottlerFile[];
  readonly module: ModuleCall;
  /** Whether ThrottlerGuard itself is bound with `APP_GUARD`. */
  readonly bindsGuard: boolean;
  /** The classes that extend ThrottlerGuard, also by a class between. */
  readonly guards: ReadonlySet<ClassDeclaration>;
  readonly barrels: Barrels;
  /** Whether files are left as they are. */
  readonly leavesFiles: boolean;
}

const TEST = /[.-](?:spec|test)\.[cm]?[jt]s$/;

export interface Unreadable {
  /** What can be rewritten is unknown without the names of the throttlers. */
  readonly unreadable: true;
}

/** Reads an application; undefined when nothing of it is to be rewritten. */
export function readApp(project: Project, notes: Notes): App | Unreadable | undefined {
  const files: ThrottlerFile[] = [];
  const barrels = new Barrels(project);
  for (const file of project.getSourceFiles()) {
    const { sources, opaque } = sourcesOf(file, barrels);
    for (const statement of [...opaque, ...barrels.opaque.filter((one) => one.getSourceFile() === file)])
      notes.add(statement, 'brings in the whole package: import its names one by one, then run again');
    if (sources.length > 0) files.push({ file, sources });
  }
  if (files.length === 0) return undefined;
  const ofTests = files.filter((file) => TEST.test(file.file.getBaseName()) && moduleCalls(file).length > 0);
  for (const test of ofTests) {
    notes.add(moduleCalls(test)[0]!.call, 'a test with throttlers of its own stays as it is: rewrite it by hand');
    files.splice(files.indexOf(test), 1);
  }
  const calls = files.flatMap((file) => moduleCalls(file));
  if (calls.length !== 1) {
    const problem =
      calls.length === 0
        ? 'no ThrottlerModule.forRoot or forRootAsync was found'
        : 'ThrottlerModule is configured more than once';
    for (const node of calls.length === 0 ? [files[0]!.sources[0]!.statement] : calls.map(({ call }) => call))
      notes.add(node, problem);
    return { unreadable: true };
  }
  const { call, isAsync } = calls[0]!;
  const module = readModuleCall(call, isAsync);
  if (typeof module === 'string') {
    notes.add(call, `${module}, so the names of the throttlers are unknown, and nothing is rewritten`);
    return { unreadable: true };
  }
  const sources = files.find(({ file }) => file === module.literal.getSourceFile())?.sources ?? [];
  const throttlers = inOrder(module.throttlers, (local) =>
    sources.map(({ names }) => names.get(local)).find((name) => name !== undefined),
  );
  const guards = guardClassesOf(
    project,
    files.flatMap((file) => guardClasses(file)),
  );
  const isBound = bindsGuard(files);
  if (!isBound) noteForeignGuards(project, guards, notes);
  return {
    files,
    module: { ...module, throttlers },
    bindsGuard: isBound,
    guards,
    barrels,
    leavesFiles: ofTests.length > 0,
  };
}

/** The references to an exported name in a file. */
export function referencesTo({ file, sources }: ThrottlerFile, exported: string): Node[] {
  return sources.flatMap(({ statement, names }) =>
    [...names].flatMap(([local, name]) => (name === exported ? usesOf(file, local, statement) : [])),
  );
}

function moduleCalls(file: ThrottlerFile): { call: ModuleCall['call']; isAsync: boolean }[] {
  return referencesTo(file, 'ThrottlerModule').flatMap((reference) => {
    const access = reference.getParent();
    const call = access?.getParent();
    if (!Node.isPropertyAccessExpression(access) || !Node.isCallExpression(call)) return [];
    return ['forRoot', 'forRootAsync'].includes(access.getName())
      ? [{ call, isAsync: access.getName() === 'forRootAsync' }]
      : [];
  });
}

/** Whether a node is the value of `useClass` or `useExisting` beside `provide: APP_GUARD`; then the provider. */
export function appGuardProvider(value: Node): Node | undefined {
  const property = value.getParent();
  const provider = property?.getParent();
  if (!Node.isPropertyAssignment(property) || !Node.isObjectLiteralExpression(provider)) return undefined;
  if (!['useClass', 'useExisting'].includes(property.getName())) return undefined;
  const token = provider.getProperty('provide');
  const isAppGuard = Node.isPropertyAssignment(token) && token.getInitializer()?.getText() === 'APP_GUARD';
  return isAppGuard ? provider : undefined;
}

function bindsGuard(files: readonly ThrottlerFile[]): boolean {
  return files.some((file) => referencesTo(file, 'ThrottlerGuard').some((one) => appGuardProvider(one) !== undefined));
}

/** Notes the guards that are bound with `APP_GUARD` and are none of the application's. */
function noteForeignGuards(project: Project, guards: ReadonlySet<ClassDeclaration>, notes: Notes): void {
  const known = new Set([...guards].map((one) => one.getName()));
  for (const file of project.getSourceFiles()) {
    for (const identifier of file.getDescendants().filter(Node.isIdentifier)) {
      if (appGuardProvider(identifier) !== undefined && !known.has(identifier.getText())) {
        noteForeignGuard(identifier, notes);
      }
    }
  }
}

/** A guard of a package may extend ThrottlerGuard, where nothing can be rewritten. */
function noteForeignGuard(guard: Node, notes: Notes): void {
  const name = guard.getText();
  if (!/throttl|limit/i.test(name)) return;
  const statement = guard
    .getSourceFile()
    .getImportDeclaration((one) =>
      one.getNamedImports().some((named) => (named.getAliasNode() ?? named.getNameNode()).getText() === name),
    );
  const from = statement?.getModuleSpecifierValue();
  if (statement === undefined || from!.startsWith('.') || statement.getModuleSpecifierSourceFile() !== undefined)
    return;
  notes.add(
    guard,
    `${name} comes from ${from}, which is not rewritten: if it extends ThrottlerGuard, run this command there as well, or bind RateLimitGuard here`,
  );
}

/** The classes that extend ThrottlerGuard. */
export function guardClasses(file: ThrottlerFile) {
  return referencesTo(file, 'ThrottlerGuard').flatMap((reference) => {
    const heritage = reference.getParent();
    const owner = heritage?.getFirstAncestor(Node.isClassDeclaration);
    return Node.isExpressionWithTypeArguments(heritage) && owner !== undefined ? [owner] : [];
  });
}
