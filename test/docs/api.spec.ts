// Compares docs/api.md with the code, and type-checks its samples.
import { expect, it, jest } from '@jest/globals';
import ts from 'typescript';
import { API_PAGE, apiGuide, type ApiSample } from '../../site/build/api-guide.js';
import { compilerOptions } from '../../site/build/hovers.js';
import { ROOT, textOf } from './support/pages.js';

jest.setTimeout(240_000); // the compiler reads the whole library

/** What the samples have in scope. */
const SCOPE = `
declare const limiter: RateLimiter, decision: Decision, error: unknown, emails: TokenBucketPolicy;
declare const user: { id: string }, response: { status: number; statusCode: number }, prompt: string, order: object;
declare const partner: { createInvoice(order: object): Promise<string> };
declare const subscriptions: { upgrade(user: string, plan: string): Promise<void> };
declare function answer(prompt: string): Promise<{ usage: { total: number } }>;
declare function exportAll(): Promise<void>;
declare function retryIn(ms: number | null): Promise<void>;
`;
const ALWAYS = ['createLimiter', 'type Decision', 'RateLimiter', 'type TokenBucketPolicy'];

function moduleOf({ code }: ApiSample): string {
  const thrown = code.match(/\b[A-Z]\w+(?:Error|Exception)\b/g) ?? [];
  const names = [...new Set([...ALWAYS, ...thrown])].join(', ');
  return `import { ${names} } from 'nestjs-floodgate';\n${SCOPE}\nexport async function sample(): Promise<void> {\n${code}\n}\n`;
}

it('the page is what the types and docstrings say: npm run api', async () => {
  expect(textOf(API_PAGE)).toBe((await apiGuide()).text);
});

it('its samples compile', async () => {
  const { samples } = await apiGuide();
  expect(samples.length).toBeGreaterThan(30);
  const modules = new Map(samples.map((sample) => [`${ROOT}.samples/${sample.of}.ts`, moduleOf(sample)]));
  const options = { ...compilerOptions(), noEmit: true, noUnusedLocals: false };
  const host = ts.createCompilerHost(options);
  const disk = ts.createCompilerHost(options);
  host.fileExists = (file) => modules.has(file) || disk.fileExists(file);
  host.getSourceFile = (file, ...rest) => {
    const text = modules.get(file);
    return text === undefined ? disk.getSourceFile(file, ...rest) : ts.createSourceFile(file, text, rest[0], true);
  };
  const program = ts.createProgram([...modules.keys()], options, host);
  const problems = [...modules.keys()].flatMap((file) => {
    const source = program.getSourceFile(file)!;
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return found.map(({ messageText }) => `${file}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
  });
  expect(problems).toEqual([]);
});
