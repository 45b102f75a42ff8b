import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createContext, type Module, runInContext, SourceTextModule, SyntheticModule } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { transform } from '@swc/core';
import type { rateLimitFetch } from './index.js';
import { ScriptedServer } from '../test-support/scripted-server.js';

const LIBS = new URL('../../', import.meta.url).href;

/** What browsers, Deno, Bun and edge runtimes have in common, as far as the client needs it. */
const WEB = { AbortSignal, clearTimeout, fetch, Headers, performance, Request, setTimeout, TextDecoder, URL };

/** Loads the client where there is nothing of Node, and returns it with the files that it consists of. */
async function load(globals: object): Promise<{ files: string[]; client: { rateLimitFetch: typeof rateLimitFetch } }> {
  const context = createContext({ ...globals });
  const modules = new Map<string, Promise<SourceTextModule>>();
  const compiled = (url: string): Promise<SourceTextModule> => {
    const known = modules.get(url) ?? compile(url);
    modules.set(url, known);
    return known;
  };
  const compile = async (url: string): Promise<SourceTextModule> => {
    const { code } = await transform(await readFile(new URL(url), 'utf8'), {
      swcrc: false,
      jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
      module: { type: 'es6' },
    });
    return new SourceTextModule(code, { identifier: url, context });
  };
  // The package that the build includes: a file of CommonJS.
  const ms = async (): Promise<Module> => {
    const source = await readFile(createRequire(import.meta.url).resolve('ms'), 'utf8');
    const exported = runInContext(`((module) => {${source}\nreturn module.exports; })({})`, context) as unknown;
    return new SyntheticModule(
      ['default'],
      function () {
        this.setExport('default', exported);
      },
      { context },
    );
  };
  const entry = await compiled(`${LIBS}client/src/index.ts`);
  await entry.link((specifier, from) => {
    if (specifier === 'ms') return ms();
    if (!specifier.startsWith('.')) throw new Error(`${from.identifier} imports ${specifier}`);
    return compiled(new URL(specifier.replace(/\.js$/, '.ts'), from.identifier).href);
  });
  await entry.evaluate();
  const files = [...modules.keys()].map((url) => url.slice(LIBS.length));
  return { files, client: entry.namespace as { rateLimitFetch: typeof rateLimitFetch } };
}

describe('the client without Node', () => {
  it('consists of its own files and of utilities', async () => {
    const { files } = await load(WEB);
    expect(files).toContain('client/src/fetch.ts');
    expect(files.filter((file) => !/^(?:client\/src|floodgate\/src\/util)\//.test(file))).toEqual([]);
  });

  it('retries a rejection, and needs nothing but what the web has', async () => {
    const { client } = await load(WEB);
    await using server = await ScriptedServer.start([{ status: 429, body: { retry_after_ms: 30 } }]);
    const response = await client.rateLimitFetch()(server.url, { method: 'POST', body: 'payload' });
    expect(response.status).toBe(200);
    expect(server.seen.map(({ body }) => body)).toEqual(['payload', 'payload']);
    expect(server.seen[1]!.at - server.seen[0]!.at).toBeGreaterThanOrEqual(29);
  });
});
