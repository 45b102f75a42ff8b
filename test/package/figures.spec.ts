import { statSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { expectFigures, type Figures } from '../support/figures.js';
import { Application, CLIENT, ENGINE, LIBRARY, MIGRATE } from './support/packed.js';

let application: Application;

beforeAll(() => {
  application = new Application(['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs']);
});
afterAll(() => application.delete());

it('the packed files have not grown', () => {
  const packed = [ENGINE, LIBRARY, CLIENT, MIGRATE].map(({ name, tarball }) => [name, statSync(tarball).size]);
  expectFigures('bytes packed', Object.fromEntries(packed) as Figures);
});

/** Bytes of the files of both packages that a process has loaded when it has imported the module, and when it has booted. */
async function loadedWith(options: string): Promise<{ imported: number; booted: number }> {
  const code = `
    require('reflect-metadata');
    const { Module } = require('@nestjs/common');
    const { NestFactory } = require('@nestjs/core');
    const { RateLimitModule, RedisStore } = require('nestjs-floodgate');
    const bytes = () => Object.keys(require.cache)
      .filter((file) => /floodgate\\/dist\\//.test(file))
      .reduce((sum, file) => sum + require('node:fs').statSync(file).size, 0);
    const imported = bytes();
    const client = { evalsha: async () => [], eval: async () => [], del: async () => 1 };
    class App {}
    Module({ imports: [RateLimitModule.forRoot(${options})] })(App);
    NestFactory.createApplicationContext(App, { logger: false, abortOnError: false }).then((app) => {
      console.log(JSON.stringify({ imported, booted: bytes() }));
      return app.close();
    });`;
  return JSON.parse(await application.run(application.write('loaded.cjs', code))) as never;
}

it('what a plain configuration loads has not grown', async () => {
  const memory = await loadedWith('');
  const redis = await loadedWith('{ store: new RedisStore(client) }');
  expect(memory.imported).toBeGreaterThan(0);
  expectFigures('bytes loaded', {
    'by the import': memory.imported,
    'at boot, in the process': memory.booted,
    'at boot, on Redis': redis.booted,
  });
});
