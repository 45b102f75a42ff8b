import { readFileSync } from 'node:fs';
import { createContext, SourceTextModule, SyntheticModule } from 'node:vm';
import * as nestAxios from '@nestjs/axios';
import * as nest from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from '@jest/globals';
import { transform } from '@swc/core';
import * as client from 'floodgate-client';
import { firstValueFrom } from 'rxjs';
import { type Scripted, ScriptedServer } from '../../libs/client/test-support/scripted-server.js';

const PAGE = readFileSync(new URL('../../docs/client.md', import.meta.url), 'utf8');
/** Those that need a server. Jest runs the others as they are: test/docs. */
const SNIPPETS = [...PAGE.matchAll(/```ts types=[^\n]*\n(.*?)```/gs)].map(([, code]) => code!);
const PACKAGES: Readonly<Record<string, object>> = {
  '@nestjs/axios': nestAxios,
  '@nestjs/common': nest,
  'floodgate-client': client,
};

/** Runs a snippet of the page against a server, and returns what it prints and exports. */
async function run(code: string, url: string): Promise<{ printed: string[]; exported: Record<string, unknown> }> {
  const printed: string[] = [];
  const console = { log: (text: unknown) => printed.push(String(text)) };
  const context = createContext({ console, setTimeout, clearTimeout, Reflect });
  const { code: script } = await transform(code.replaceAll('https://api.example.com/rides', url), {
    swcrc: false,
    jsc: {
      target: 'es2023',
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true },
    },
    module: { type: 'es6' },
  });
  const module = new SourceTextModule(script, { context });
  await module.link((specifier) => {
    const exports = PACKAGES[specifier]!;
    return new SyntheticModule(
      Object.keys(exports),
      function () {
        for (const [name, value] of Object.entries(exports)) this.setExport(name, value);
      },
      { context },
    );
  });
  await module.evaluate();
  return { printed, exported: module.namespace as Record<string, unknown> };
}

const SOON: Scripted = { status: 429, body: { retry_after_ms: 20 } };

describe('the snippets of docs/client.md', () => {
  it.each<{ snippet: string; uses: string; answers: Scripted[]; printed: string[]; requests: number }>([
    { snippet: 'the first one', uses: "method: 'POST'", answers: [SOON], printed: ['200'], requests: 2 },
    {
      snippet: 'the error',
      uses: 'RateLimitWaitError',
      answers: [{ status: 429, headers: { 'Retry-After': '9' } }],
      printed: ['rejected by the server'],
      requests: 1,
    },
    { snippet: 'the partition', uses: 'partition:', answers: [SOON], printed: [], requests: 2 },
  ])('$snippet', async ({ uses, answers, printed, requests }) => {
    const [code, ...others] = SNIPPETS.filter((snippet) => snippet.includes(uses));
    expect(others).toEqual([]);
    await using server = await ScriptedServer.start(answers);
    const result = await run(code!, server.url);
    expect(result.printed).toEqual(printed);
    expect(server.seen).toHaveLength(requests);
  });

  it("Nest's HttpService", async () => {
    const [code] = SNIPPETS.filter((snippet) => snippet.includes('rateLimitAxios'));
    await using server = await ScriptedServer.start([SOON]);
    const { exported } = await run(code!, server.url);
    const module = await Test.createTestingModule({ imports: [exported['RidesModule'] as nest.Type] }).compile();
    const response = await firstValueFrom(
      module.get(nestAxios.HttpService, { strict: false }).get<unknown>(server.url),
    );
    expect(response.status).toBe(200);
    expect(server.seen).toHaveLength(2);
    await module.close();
  });

  it('are all run', () => {
    expect(SNIPPETS).toHaveLength(4);
  });
});
