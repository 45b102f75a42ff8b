import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { AppFolder, ServedApp } from './support/served-app.js';

const PAGE = fileURLToPath(new URL('../../docs/migration.md', import.meta.url));

it('holds snippets that compile, and applications whose routes answer as the page says', async () => {
  const snippets = [...(await readFile(PAGE, 'utf8')).matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code!);
  expect(snippets).toHaveLength(2);
  await using folder = await AppFolder.make(false);
  for (const [i, code] of snippets.entries()) await writeFile(join(folder.sources, `snippet-${i}.ts`), code);
  expect(await folder.typeErrors()).toBe('');
  for (const code of snippets.filter((snippet) => snippet.includes('class AppModule'))) {
    await writeFile(join(folder.sources, 'app.module.ts'), code);
    await using app = await ServedApp.start(folder, 'Express');
    const get = (path: string) => ({ advance: 0, method: 'GET', path, headers: {} });
    const answers = await app.hold(
      [...Array<string>(4).fill('/cats'), ...Array<string>(11).fill('/cats/health')].map(get),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, ...Array<number>(11).fill(200)]);
  }
}, 180_000);
