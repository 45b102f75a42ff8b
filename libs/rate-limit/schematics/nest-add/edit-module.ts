import type * as TypeScript from 'typescript';
import type { Client } from './package-file.js';
import { importsOf, type RootModule } from './root-module.js';
import type { Sources } from './sources.js';
import { TextEdits } from './text-edits.js';

export type Identity = 'ip' | 'user' | 'api-key';

export interface ModuleChoices {
  readonly client: Client | 'none';
  readonly identity: Identity;
}

interface Snippet {
  /** The names that it needs of the package. */
  readonly names: readonly string[];
  readonly text: string;
}

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

/**
 * The call of `RateLimitModule.forRoot` for the choices.
 *
 * @param environment how the sources spell a variable of the environment
 */
export function forRoot({ client, identity }: ModuleChoices, environment = 'process.env.REDIS_URL'): Snippet {
  const resolvers = RESOLVERS[identity];
  const redis = client === 'none' ? [] : [`redis: ${environment}`];
  const names = NAMES[identity];
  if (resolvers.length === 0) {
    return { names, text: `RateLimitModule.forRoot(${redis.map((field) => `{ ${field} }`).join('')})` };
  }
  const fields = [...redis.map((field) => `${field},`), 'identity: [', ...resolvers.map((one) => `  ${one}`), '],'];
  return { names, text: `RateLimitModule.forRoot({\n${fields.map((field) => `  ${field}\n`).join('')}})` };
}

/** The text of the root module with `RateLimitModule.forRoot` at the end of its imports. */
export function withRateLimitModule(sources: Sources, { path, metadata }: RootModule, choices: ModuleChoices): string {
  const { ts } = sources;
  const file = sources.parse(path);
  const edits = new TextEdits(ts, file);
  const strict = sources.compilerOptions.noPropertyAccessFromIndexSignature === true;
  const snippet = forRoot(choices, strict ? "process.env['REDIS_URL']" : undefined);
  const property = importsOf(ts, metadata);
  // Behind the others: what they import may read the environment from a file, and authenticate.
  if (property === undefined) addImports(edits, metadata, snippet.text);
  else if (ts.isPropertyAssignment(property) && ts.isArrayLiteralExpression(property.initializer)) {
    edits.append(property.initializer.elements, property.initializer.getStart(file) + 1, snippet.text);
  } else if (ts.isPropertyAssignment(property)) {
    edits.insert(property.initializer.getStart(file), '[...(');
    edits.insert(property.initializer.end, `), ${indented(edits, property, snippet.text)}]`);
  } else {
    // A shorthand: `imports` is a name of the file.
    edits.insert(property.end, `: [...imports, ${indented(edits, property, snippet.text)}]`);
  }
  edits.import(snippet.names, 'nestjs-floodgate');
  return edits.result();
}

/** A first property, on a line of its own where the object has a line for each. */
function addImports(edits: TextEdits, metadata: TypeScript.ObjectLiteralExpression, text: string): void {
  const open = metadata.getStart(edits.file) + 1;
  const property = `imports: [${indented(edits, metadata, text, '  ')}]`;
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
