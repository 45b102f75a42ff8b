import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Application, ENGINE, LIBRARY, type Packed } from './support/packed.js';

const PEERS = ['@nestjs/common', '@nestjs/core', '@nestjs/platform-express', 'reflect-metadata', 'rxjs'];
const POLICY = `{ name: 'one', algorithm: 'token-bucket', capacity: 1, refill: '1/h' }`;

/** A file of a library that the application uses, as CommonJS. `decorated` is a class with a limited route. */
const USER = `
  const { Controller, Get, Inject, Injectable } = require('@nestjs/common');
  const { RateLimit, RateLimiter, RateLimitModule } = require('nestjs-floodgate');
  class Decorated { get() { return 'ok'; } }
  const route = Object.getOwnPropertyDescriptor(Decorated.prototype, 'get');
  Controller()(Decorated);
  Get()(Decorated.prototype, 'get', route);
  RateLimit(${POLICY})(Decorated.prototype, 'get', route);
  class Injected {}
  Inject(RateLimiter)(Injected.prototype, 'limiter');
  Injectable()(Injected);
  exports.decorated = Decorated;
  exports.injected = Injected;
  exports.RateLimitModule = RateLimitModule;`;

/** An application that prints the statuses of two requests. */
const main = (library: string, metadata: string): string => `
  import 'reflect-metadata';
  import { Module } from '@nestjs/common';
  import { NestFactory } from '@nestjs/core';
  import { RateLimitModule } from 'nestjs-floodgate';
  import * as library from '${library}';
  class App {}
  Module(${metadata})(App);
  const app = await NestFactory.create(App, { abortOnError: false });
  await app.listen(0, '127.0.0.1');
  const statuses = [];
  for (let i = 0; i < 2; i++) statuses.push((await fetch(await app.getUrl())).status);
  console.log('statuses', ...statuses);
  await app.close();`;

const DECORATED = '{ imports: [RateLimitModule.forRoot()], controllers: [library.decorated] }';

let application: Application;

beforeEach(() => {
  application = new Application(PEERS);
});
afterEach(() => application.delete());

const start = (library: string, metadata: string): Promise<string> =>
  application.run(application.write('main.mjs', main(library, metadata)));

/** The file of a package that says which copy is loaded: entry points share it. */
function fileOf(packed: Packed, extension: '.js' | '.cjs'): string {
  return packed.files.find(
    (file) => file.endsWith(extension) && packed.textOf(file).includes(`("${packed.name}","string"==typeof`),
  )!;
}

const warning = (own: string, other: string, name = 'nestjs-floodgate'): string =>
  `${name} is loaded 2 times, with classes of their own: ES module from ${own} (of the RateLimitModule that boots); ${other}.`;

describe('a copy of the package beside the one of RateLimitModule', () => {
  const path = (file: string): string => `${application.folder}/node_modules/${file}`;
  const esm = (): string => path(`nestjs-floodgate/${fileOf(LIBRARY, '.js')}`);
  const cjs = (): string => `CommonJS from ${path(`nestjs-floodgate/${fileOf(LIBRARY, '.cjs')}`)}`;
  const nested = (): string =>
    `CommonJS from ${path(`library/node_modules/nestjs-floodgate/${fileOf(LIBRARY, '.cjs')}`)}`;

  it.each([
    ['in the other format', './library.cjs', cjs],
    ['of another version', './node_modules/library/index.cjs', nested],
  ])('%s: its decorators limit, and boot names both copies', async (_, file, other) => {
    application.install('node_modules/library/node_modules/nestjs-floodgate', LIBRARY, '0.0.1');
    application.write(file, USER);
    const printed = await start(file, DECORATED);
    expect(printed).toContain('statuses 200 429');
    expect(printed).toContain(warning(esm(), other()));
    expect(printed).toContain('use either import or require in all files');
    expect(printed).not.toContain('RateLimitModule is not imported');
  });

  it('is named before Nest misses a class of it', async () => {
    application.write('library.cjs', USER);
    const printed = await start(
      './library.cjs',
      '{ imports: [RateLimitModule.forRoot()], providers: [library.injected] }',
    );
    expect(printed).toContain(warning(esm(), cjs()));
    expect(printed).toContain("Nest can't resolve dependencies of the Injected");
    expect(printed).not.toContain('statuses');
  });

  it('is named where the engine alone is loaded twice', async () => {
    application.write('library.cjs', `exports.MemoryStore = require('floodgate').MemoryStore;`);
    const printed = await start(
      './library.cjs',
      `{ imports: [RateLimitModule.forRoot({ store: new library.MemoryStore(), defaults: [${POLICY}] })], controllers: [] }`,
    );
    const file = (extension: '.js' | '.cjs'): string => path(`floodgate/${fileOf(ENGINE, extension)}`);
    expect(printed).toContain(warning(file('.js'), `CommonJS from ${file('.cjs')}`, 'floodgate'));
    expect(printed).not.toContain('nestjs-floodgate is loaded');
    expect(printed).toContain('statuses 404 404');
  });

  it('cannot have a RateLimitModule of its own: it would charge each request twice', async () => {
    application.write('library.cjs', USER);
    const printed = await start(
      './library.cjs',
      '{ imports: [RateLimitModule.forRoot(), library.RateLimitModule.forRoot()], controllers: [library.decorated] }',
    );
    expect(printed).toMatch(
      /RateLimitConfigError: RateLimitModule: is imported twice, from several copies of nestjs-floodgate/,
    );
    expect(printed).toContain(`ES module from ${esm()}`);
    expect(printed).toContain(cjs());
    expect(printed).not.toContain('statuses');
  });
});
