import type * as TypeScript from 'typescript';
import { type Creation, lineOf } from './root-module.js';
import { nodesIn, type Sources } from './sources.js';
import { TextEdits } from './text-edits.js';
import type { Compiler } from './typescript.js';

/** What a project's files say of trust proxy; `by hand` names what a person has to write, and where. */
export type TrustProxy =
  | { readonly done: 'edited'; readonly path: string; readonly text: string; readonly setting: string }
  | { readonly done: 'by hand'; readonly path: string; readonly why: string; readonly setting: string };

/** Express counts the proxies. Fastify 5 takes addresses only: those of private networks, in which a proxy stands. */
const EXPRESS = "app.set('trust proxy', 1)";
const FASTIFY = "trustProxy: 'loopback, linklocal, uniquelocal'";

/** Sets trust proxy where the application is created. */
export function trustProxy(sources: Sources, { path, call }: Creation): TrustProxy {
  const { ts } = sources;
  const edits = new TextEdits(ts, sources.parse(path));
  const adapter = fastifyAdapterOf(ts, call);
  const byHand = (why: string, setting: string): TrustProxy => ({ done: 'by hand', path, why, setting });
  if (adapter === 'unknown') {
    return byHand(
      `${path.slice(1)}:${lineOf(call)} takes its adapter from elsewhere`,
      `${EXPRESS}, or new FastifyAdapter({ ${FASTIFY} })`,
    );
  }
  const setting = adapter === undefined ? EXPRESS : FASTIFY;
  const problem = adapter === undefined ? setInExpress(ts, edits, call) : setInFastify(ts, edits, adapter);
  if (problem !== undefined)
    return byHand(
      `${path.slice(1)}:${lineOf(call)} ${problem}`,
      adapter === undefined ? EXPRESS : `new FastifyAdapter({ ${FASTIFY} })`,
    );
  return { done: 'edited', path, text: edits.result(), setting };
}

/** The first file that sets trust proxy. */
export function trustProxyIn(sources: Sources): string | undefined {
  return sources.paths.find((one) => namesTrustProxy(sources, one));
}

/** Whether the code of a file, and not a comment, names the setting. */
function namesTrustProxy(sources: Sources, path: string): boolean {
  if (!/trust proxy|trustProxy/.test(sources.text(path))) return false;
  const { ts } = sources;
  const named = nodesIn(ts, sources.parse(path), (node) => ts.isIdentifier(node) || ts.isStringLiteralLike(node));
  return named.some(({ text }) => text === 'trust proxy' || text === 'trustProxy');
}

/** The adapter of Fastify; undefined for Express. */
function fastifyAdapterOf(
  ts: Compiler,
  call: TypeScript.CallExpression,
): TypeScript.NewExpression | 'unknown' | undefined {
  const file = call.getSourceFile();
  for (let given of call.arguments.slice(1)) {
    if (ts.isIdentifier(given)) {
      const { text } = given;
      const declared = nodesIn(ts, file, ts.isVariableDeclaration).find(({ name }) => name.getText(file) === text);
      if (declared?.initializer === undefined) return 'unknown';
      given = declared.initializer;
    }
    if (ts.isObjectLiteralExpression(given)) continue;
    if (!ts.isNewExpression(given)) return 'unknown';
    const name = given.expression.getText(file);
    if (name === 'FastifyAdapter') return given;
    if (name !== 'ExpressAdapter') return 'unknown';
  }
  return undefined;
}

/** @returns what stands in the way, if something does */
function setInFastify(ts: Compiler, edits: TextEdits, adapter: TypeScript.NewExpression): string | undefined {
  const { file } = edits;
  const [options] = adapter.arguments ?? [];
  if (options === undefined) {
    if (adapter.arguments === undefined) edits.insert(adapter.end, `({ ${FASTIFY} })`);
    else edits.insert(adapter.arguments.pos, `{ ${FASTIFY} }`);
    return undefined;
  }
  if (!ts.isObjectLiteralExpression(options)) return `gives its FastifyAdapter ${options.getText(file)}`;
  const { properties } = options;
  if (properties.length === 0) edits.insert(options.getStart(file) + 1, ` ${FASTIFY} `);
  else edits.append(properties, options.getStart(file) + 1, [FASTIFY]);
  return undefined;
}

/** @returns what stands in the way, if something does */
function setInExpress(ts: Compiler, edits: TextEdits, call: TypeScript.CallExpression): string | undefined {
  const { file } = edits;
  const awaited = call.parent;
  const declaration = awaited.parent;
  if (!ts.isAwaitExpression(awaited) || !ts.isVariableDeclaration(declaration) || !ts.isIdentifier(declaration.name)) {
    return 'does not keep the application in a const of its own';
  }
  if (declaration.type !== undefined) return `declares the application as ${declaration.type.getText(file)}`;
  const [type] = call.typeArguments ?? [];
  if (type !== undefined && type.getText(file) !== 'NestExpressApplication') {
    return `declares the application as ${type.getText(file)}`;
  }
  const statement = declaration.parent.parent;
  if (!ts.isVariableStatement(statement)) return 'does not keep the application in a const of its own';
  if (type === undefined) {
    edits.insert(call.expression.end, '<NestExpressApplication>');
    edits.import(['NestExpressApplication'], '@nestjs/platform-express', true);
  }
  const end = statement.getText(file).endsWith(';') ? ';' : '';
  const setting = EXPRESS.replace(/^app/, declaration.name.text);
  // The comment stands before it: more may follow in the line.
  const line = `${edits.lineEnd}${edits.indentAt(statement.getStart(file))}`;
  edits.insert(statement.end, `${line}// The number of proxies in front.${line}${setting}${end}`);
  return undefined;
}
