import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { PlaygroundPage } from './support/playground-page.js';
import { StaticSite } from './support/static-site.js';
import { launch } from '../../tools/browser.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The command compiles the application. */
const BUILD_LIMIT_MS = 180_000;

it(
  'npm run build:playground writes a page that works from a static host, in a folder, and from a file',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'playground-'));
    const command = ['run', '--silent', 'build:playground', '--', '--out', folder];
    const { stdout } = await promisify(execFile)('npm', command, { cwd: ROOT });
    expect(stdout).toMatch(/^The playground is in .*: open index\.html$/m);
    expect(await readdir(folder)).toEqual(expect.arrayContaining(['index.html', 'playground.js']));
    await using browser = await launch();
    await using site = await StaticSite.serve(folder, '/some/folder/');
    for (const url of [site.url, pathToFileURL(join(folder, 'index.html')).href]) {
      await using playground = await PlaygroundPage.open(browser, url);
      await playground.more();
      await playground.clear();
      await playground.button('Edge of a window').click();
      expect(await playground.stats('passed')).toEqual(['10', '20', '11', '12', '10', '3']);
      await playground.button('Copy link').click();
      const link = playground.page.url();
      expect(link).toContain('#v=1&');
      await using shared = await PlaygroundPage.open(browser, link);
      expect(await shared.pictures()).toEqual(await playground.pictures());
      expect([...playground.troubles, ...shared.troubles]).toEqual([]);
    }
    await rm(folder, { recursive: true });
  },
  BUILD_LIMIT_MS,
);
