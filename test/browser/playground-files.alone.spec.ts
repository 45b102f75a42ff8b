import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { PlaygroundPage } from './support/playground-page.js';
import { launch } from './support/viewer.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css',
  html: 'text/html',
  js: 'text/javascript',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
};
/** The command compiles the application. */
const BUILD_LIMIT_MS = 180_000;

let browser: Browser;
let folder: string;
let server: Server;
let printed: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'playground-'));
  const command = promisify(execFile)('npm', ['run', '--silent', 'build:playground', '--', '--out', folder], {
    cwd: ROOT,
  });
  [{ stdout: printed }, browser] = await Promise.all([command, launch()]);
  server = createServer((request, response) => {
    const name = request.url!.replace('/some/folder/', '') || 'index.html';
    response.setHeader('Content-Type', TYPES[name.split('.').at(-1)!] ?? 'text/plain');
    readFile(join(folder, name)).then(
      (text) => response.end(text),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
}, BUILD_LIMIT_MS);

afterAll(async () => {
  await browser.close();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

describe('npm run build:playground', () => {
  it('writes a few files, and says where', async () => {
    expect(printed).toMatch(/^The playground is in .*: open index\.html$/m);
    expect((await readdir(folder)).toSorted()).toEqual([
      'base.css',
      'controls.css',
      'font.css',
      'frame.css',
      'icon.svg',
      'index.html',
      'inter-latin-wght-normal.woff2',
      'palette.css',
      'playground.js',
      'rows.css',
    ]);
  });

  it.each(['a static host, in a folder', 'a file'])('writes a page that works from %s', async (place) => {
    const { port } = server.address() as AddressInfo;
    const url =
      place === 'a file' ? pathToFileURL(join(folder, 'index.html')).href : `http://127.0.0.1:${port}/some/folder/`;
    await using playground = await PlaygroundPage.open(browser, url);
    await playground.clear();
    await playground.button('Edge of a window').click();
    expect(await playground.stats('passed')).toEqual(['11', '12', '20', '10', '10', '3']);
    await playground.button('Copy link').click();
    const link = playground.page.url();
    expect(link).toContain('#v=1&');
    await using shared = await PlaygroundPage.open(browser, link);
    expect(await shared.pictures()).toEqual(await playground.pictures());
    expect([...playground.troubles, ...shared.troubles]).toEqual([]);
  });
});
