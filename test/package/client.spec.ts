import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { build } from 'esbuild';
import { Application, CLIENT } from './support/packed.js';

/** The first snippet of libs/client/README.md, as it is packed. */
const SNIPPET = /^```ts[^\n]*\n(.*?)^```$/ms.exec(CLIENT.textOf('README.md'))![1]!;
/** Bytes of the client in a page, minified and compressed. */
const MOST_BYTES = 9_500;

let alone: Application;

beforeAll(() => {
  alone = new Application([], CLIENT);
});
afterAll(() => alone.delete());

describe('floodgate-client, in an application without Nest', () => {
  it('depends on no package', () => {
    for (const kind of ['dependencies', 'peerDependencies', 'optionalDependencies']) {
      expect(CLIENT.manifest).not.toHaveProperty(kind);
    }
  });

  it('runs the snippet of its README', async () => {
    const stub = `globalThis.fetch = async (url, { method }) => (console.log(method, url), new Response('{}'));\n`;
    expect(await alone.run(alone.write('readme.mjs', stub + SNIPPET))).toBe(
      'POST https://api.example.com/rides\n200\n',
    );
  });

  it('is small in a page', async () => {
    const { errors, warnings, outputFiles } = await build({
      entryPoints: [alone.write('page.mjs', `globalThis.client = await import('${CLIENT.name}');`)],
      absWorkingDir: alone.folder,
      bundle: true,
      minify: true,
      write: false,
      platform: 'browser',
      format: 'esm',
      logLevel: 'silent',
    });
    expect([errors, warnings]).toEqual([[], []]);
    expect(gzipSync(outputFiles[0]!.contents).byteLength).toBeLessThan(MOST_BYTES);
  });
});
