import type * as TypeScript from 'typescript';
import type { Client, Metrics } from './package-file.js';
import { importsOf, type RootModule, Unreadable } from './root-module.js';
import type { Sources } from './sources.js';
import type { Compiler } from './typescript.js';
import { TextEdits } from './text-edits.js';

export type Identity = 'ip' | 'user' | 'api-key';

export interface ModuleChoices {
  readonly client: Client | 'none';
  readonly identity: Identity;
  readonly metrics: Metrics | 'none';
}

interface Snippet {
  /** The names that it needs of the package. */
  readonly names: readonly string[];
  /** The elements of `imports`. */
  readonly modules: readonly string[];
}

const PACKAGE = 'nestjs-floodgate';

const RESOLVERS: Readonly<Record<Identity, readonly string[]>> = {
  ip: [],
  user: [
    "{ kind: 'user', resolve: ({ user }: RateLimitRequest<{ user?: { id: string } }>) => user?.id },",
    'ipIdentity(),',
  ],
  'api-key': ['apiKeyIdentity(),', 'ipIdentity(),'],
};
const NAMES: Readonly<Record<Identity, readonly string[]>> = {
  ip: ['RateLimitModule'],
  user: ['ipIdentity', 'RateLimitModule', 'type RateLimitRequest'],
  'api-key': ['apiKeyIdentity', 'ipIdentity', 'RateLimitModule'],
};

const MEASURED: Readonly<Record<Metrics, string>> = {
  'prom-client': 'RateLimitMetricsModule.forRoot()',
  opentelemetry: "RateLimitMetricsModule.forRoot({ through: 'opentelemetry' })",
};

/**
 * The modules for the choices.
 *
 * @param environment how the sources spell a variable of the environment
 */
export function modulesFor(
  { client, identity, metrics }: ModuleChoices,
  environment = 'process.env.REDIS_URL',
): Snippet {
  const resolvers = RESOLVERS[identity];
  const redis = client === 'none' ? [] : [`redis: ${environment}`];
  const fields = [...redis.map((field) => `${field},`), 'identity: [', ...resolvers.map((one) => `  ${one}`), '],'];
  const options =
    resolvers.length > 0
      ? `{\n${fields.map((field) => `  ${field}\n`).join('')}}`
      : redis.map((field) => `{ ${field} }`).join('');
  const limits = `RateLimitModule.forRoot(${options})`;
  if (metrics === 'none') return { names: NAMES[identity], modules: [limits] };
  const names = ['RateLimitMetricsModule', ...NAMES[identity]].toSorted(byName);
  return { names, modules: [limits, MEASURED[metrics]] };
}

function byName(one: string, other: string): number {
  return one.replace(/^type /, '').localeCompare(other.replace(/^type /, ''), 'en');
}

/**
 * The text of the root module with the modules for the choices at the end of its imports.
 *
 * @throws {Unreadable} when the file has a name of the package for something else
 */
export function withRateLimitModule(sources: Sources, { path, metadata }: RootModule, choices: ModuleChoices): string {
  const { ts } = sources;
  const file = sources.parse(path);
  const edits = new TextEdits(ts, file);
  const strict = sources.compilerOptions.noPropertyAccessFromIndexSignature === true;
  const { names, modules: written } = modulesFor(choices, strict ? "process.env['REDIS_URL']" : undefined);
  const modules = written.map((one) =>
    one.replaceAll(/^(?: {2})+/gm, (blanks) => edits.unit.repeat(blanks.length / 2)),
  );
  const own = namesOf(ts, file);
  const taken = names.find((name) => own.has(name.replace(/^type /, '')));
  if (taken !== undefined) throw new Unreadable(`${path.slice(1)} has a ${taken.replace(/^type /, '')} of its own`);
  const inLine = modules.join(', ');
  const property = importsOf(ts, metadata);
  // Behind the others: what they import may read the environment from a file, and authenticate.
  if (property === undefined) addImports(edits, metadata, inLine);
  else if (ts.isPropertyAssignment(property) && ts.isArrayLiteralExpression(property.initializer)) {
    edits.append(property.initializer.elements, property.initializer.getStart(file) + 1, modules);
  } else if (ts.isPropertyAssignment(property)) {
    edits.insert(property.initializer.getStart(file), '[...(');
    edits.insert(property.initializer.end, `), ${indented(edits, property, inLine)}]`);
  } else {
    // A shorthand: `imports` is a name of the file.
    edits.insert(property.end, `: [...imports, ${indented(edits, property, inLine)}]`);
  }
  edits.import(names, PACKAGE);
  return edits.result();
}

/** What a file declares, and imports from elsewhere than the package. */
function namesOf(ts: Compiler, file: TypeScript.SourceFile): Set<string> {
  const declared = file.statements.flatMap((one): readonly TypeScript.Node[] => {
    if (ts.isVariableStatement(one)) return one.declarationList.declarations;
    if (!ts.isImportDeclaration(one)) return [one];
    if (ts.isStringLiteral(one.moduleSpecifier) && one.moduleSpecifier.text === PACKAGE) return [];
    const { importClause } = one;
    const bindings = importClause?.namedBindings;
    const named = bindings === undefined ? [] : ts.isNamedImports(bindings) ? bindings.elements : [bindings];
    return importClause === undefined ? [] : [importClause, ...named];
  });
  return new Set(
    declared.flatMap((one) => ts.getNameOfDeclaration(one as TypeScript.Declaration)?.getText(file) ?? []),
  );
}

/** A first property, on a line of its own where the object has a line for each. */
function addImports(edits: TextEdits, metadata: TypeScript.ObjectLiteralExpression, text: string): void {
  const open = metadata.getStart(edits.file) + 1;
  const property = `imports: [${indented(edits, metadata, text, edits.unit)}]`;
  const [next] = metadata.properties;
  if (next === undefined) edits.insert(open, ` ${property} `);
  else if (edits.file.text.slice(open, next.getStart(edits.file)).includes('\n')) {
    edits.insert(open, `${edits.lineEnd}${edits.indentAt(next.getStart(edits.file))}${property},`);
  } else edits.insert(open, ` ${property},`);
}

/** A text of many lines, as deep as a node's line. */
function indented(edits: TextEdits, node: TypeScript.Node, text: string, more = ''): string {
  return text.replaceAll('\n', `${edits.lineEnd}${edits.indentAt(node.getStart(edits.file))}${more}`);
}
