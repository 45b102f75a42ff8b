import { join } from 'node:path';
import ts from 'typescript';
import { beforeAll, expect, it } from '@jest/globals';

// What the types of functions let an application write. The compiler is asked about all of it at once.

const ROOT = join(import.meta.dirname, '../../..');
const FILE = join(ROOT, 'test/e2e/written-by-an-application.ts');

const IMPORTS = `
import type { ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { FastifyRequest } from 'fastify';
import { apiKeyIdentity, ipIdentity, RateLimit, RateLimitAdminModule, type IdentityResolver, type Policy, type RateLimitModuleOptions, type RateLimitRequest } from 'nestjs-floodgate';
interface User { readonly id: string; readonly isAdmin: boolean }
type Cost = NonNullable<Policy['cost']>;
type SkipIf = NonNullable<Policy['skipIf']>;
`;

const RIGHT = {
  'headers, without a type': `const a: SkipIf = (request) => request.headers['x-internal'] === 'yes'`,
  'a header that Node knows, as text': `const a: SkipIf = ({ headers }) => headers.authorization?.startsWith('Bearer ') === true`,
  'the other usual members, without a type': `const a: SkipIf = ({ ip, method, url, body, query, params, user }) => ip === '::1' && method === 'GET' && url?.length === [body, query, params, user].length`,
  'a request of Express': `const a: Cost = (request: Request) => Number(request.get('x-cost')) + (request.ip ?? '').length`,
  'a request of Express with a user': `const a: SkipIf = ({ user }: Request & { user?: User }) => user?.isAdmin === true`,
  'a request of Fastify': `const a: Cost = async (request: FastifyRequest) => request.routeOptions.url?.length ?? 1`,
  'members by a parameter': `const a: SkipIf = (request: RateLimitRequest<{ user: User }>) => request.user.isAdmin`,
  'an own header by a parameter': `const a: Policy['by'] = ({ headers }: RateLimitRequest<{ headers: { 'x-tenant'?: string } }>) => ({ kind: 'tenant', value: headers['x-tenant'] })`,
  'an interface of its own': `interface Asked { headers: Record<string, string>; body: { rows: number } }\nconst a: Cost = ({ body }: Asked) => body.rows`,
  'the context behind the request': `const a: Cost = (_, context) => context.getArgByIndex<string[]>(0).length`,
  'a function that chooses a policy': `class A { @RateLimit(({ tenant }: RateLimitRequest<{ tenant?: { plan: string } }>) => tenant?.plan ?? 'free') get(): void {} }`,
  'a choice with a fallback': `class A { @RateLimit({ choose: (request, context) => (context.getClass().name === request.url ? 'a' : 'b'), fallback: 'a' }) get(): void {} }`,
  'a use of a policy with a function': `class A { @RateLimit('burst', { policy: 'matching', priority: ({ user }: RateLimitRequest<{ user?: User }>) => (user?.isAdmin ? 'rides' : undefined) }) get(): void {} }`,
  'the options of the module': `const a: RateLimitModuleOptions = {
    identity: [{ kind: 'user', resolve: ({ user }: RateLimitRequest<{ user?: User }>) => user?.id }, apiKeyIdentity(), ipIdentity()],
    plan: { resolve: (request: Request) => request.get('x-plan') },
    allowList: (address, { url }, context) => address === '::1' && url === context.getHandler().name,
    blockList: async (address, { user }: RateLimitRequest<{ user?: User }>) => user?.id === address,
    problem: ({ retryAfterMs }, { url }: FastifyRequest, context) => ({ retryAfterMs, url, type: context.getType() }),
  }`,
  'the author of an override': `RateLimitAdminModule.register({ guards: [], author: ({ user }: RateLimitRequest<{ user: User }>) => user.id })`,
} as const;

/** What was right before functions got the request, and mistakes, by a part of what the compiler says. */
const WRONG = {
  'another option beside the name of a policy': [
    `class A { @RateLimit({ policy: 'matching', priority: 'estimates', cost: 2 }) get(): void {} }`,
    "'policy' does not exist in type",
  ],
  'a function of the context, without a type': [
    `const a: SkipIf = (context) => context.switchToHttp().getRequest<Request>().ip === '::1'`,
    `Property 'switchToHttp' does not exist`,
  ],
  'a function of the context': [
    `const a: SkipIf = (context: ExecutionContext) => context.getType() === 'http'`,
    `is not assignable to type 'RequestFunction<`,
  ],
  'a member that no request is known to have': [
    `const a: SkipIf = (request) => request.tenant === 'acme'`,
    `Property 'tenant' does not exist`,
  ],
  'a user whose type nobody named': [`const a: SkipIf = ({ user }) => user.isAdmin`, `'user' is of type 'unknown'`],
  'an answer of the wrong type': [
    `const a: Cost = (request: Request) => request.get('x-cost')`,
    `is not assignable to type 'number | Promise<number>'`,
  ],
} as const;

const found = new Map<string, string>();

beforeAll(() => {
  const cases = [...Object.entries(RIGHT), ...Object.entries(WRONG).map(([name, [code]]) => [name, code] as const)];
  // Each in a block of its own, whose lines tell the case.
  let text = IMPORTS;
  const ends: (readonly [line: number, name: string])[] = [];
  for (const [name, code] of cases) {
    text += `export function case${ends.length}(): void {\n${code};\n}\n`;
    ends.push([text.split('\n').length - 1, name]);
  }
  const config = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path)).config as {
    compilerOptions: object;
  };
  const { options } = ts.convertCompilerOptionsFromJson({ ...config.compilerOptions, noUnusedLocals: false }, ROOT);
  const real = ts.createCompilerHost({ ...options, noEmit: true });
  const host: ts.CompilerHost = {
    ...real,
    fileExists: (name) => name === FILE || real.fileExists(name),
    getSourceFile: (name, version, ...rest) =>
      name === FILE ? ts.createSourceFile(name, text, version) : real.getSourceFile(name, version, ...rest),
  };
  const program = ts.createProgram([FILE], { ...options, noEmit: true }, host);
  const source = program.getSourceFile(FILE)!;
  for (const { start, messageText } of [
    ...program.getSyntacticDiagnostics(source),
    ...program.getSemanticDiagnostics(source),
  ]) {
    const line = source.getLineAndCharacterOfPosition(start!).line;
    const name = ends.find(([end]) => line < end)![1];
    found.set(name, `${found.get(name) ?? ''}${ts.flattenDiagnosticMessageText(messageText, '\n')}\n`);
  }
});

it.each(Object.keys(RIGHT))('lets a function be written with %s', (name) => {
  expect(found.get(name)).toBeUndefined();
});

it.each(Object.entries(WRONG).map(([name, [, message]]) => [name, message] as const))('finds %s', (name, message) => {
  expect(found.get(name)).toContain(message);
});
