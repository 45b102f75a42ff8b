import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { build } from 'esbuild';
import { Application, ENGINE, LIBRARY, type Packed } from './support/packed.js';

const PEERS = ['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs'];
const FORMATS = ['mjs', 'cjs'] as const;

let application: Application;

beforeAll(() => {
  application = new Application(PEERS);
});
afterAll(() => application.delete());

const PACKAGES = [
  { packed: ENGINE, folder: 'floodgate' },
  { packed: LIBRARY, folder: 'nest' },
];
/** The entry points that an application may name, each with its source. */
const ENTRIES = PACKAGES.flatMap(({ packed, folder }) =>
  packed.entries
    .filter((entry) => !entry.startsWith('internal'))
    .map((entry) => ({ name: packed.nameOf(entry), source: `../../libs/${folder}/src/${entry}.js` })),
);

const load = (format: string, name: string): string =>
  format === 'mjs' ? `await import('${name}')` : `require('${name}')`;

/** The names that an entry point exports, and its classes, as a process without the optional packages sees them. */
async function exportsOf(format: string, name: string): Promise<{ names: string[]; classes: string[][] }> {
  const code = `
    const loaded = ${load(format, name)};
    const entries = Object.entries(loaded).filter(([name]) => name !== 'default' && name !== 'module.exports');
    const classes = entries.filter(([, value]) => /^class /.test(String(value))).map(([name, value]) => [name, value.name]);
    console.log(JSON.stringify({ names: entries.map(([name]) => name).toSorted(), classes }));`;
  return JSON.parse(await application.run(application.write(`exports.${format}`, code))) as never;
}

describe.each(ENTRIES)('the entry point $name', ({ name, source }) => {
  it('exports the same from both formats, under the names of its sources', async () => {
    const [module, script] = await Promise.all(FORMATS.map((format) => exportsOf(format, name)));
    const sources = (await import(source)) as object;
    expect(module!.names).toEqual(Object.keys(sources).toSorted());
    expect(script!.names).toEqual(module!.names);
    for (const [one, classNamed] of [...module!.classes, ...script!.classes]) expect(classNamed).toBe(one);
  });

  it.each(FORMATS)('is bundled by esbuild without the optional packages: %s', async (format) => {
    const { errors, warnings, outputFiles } = await build({
      entryPoints: [application.write(`bundled.${format}`, `globalThis.loaded = ${load(format, name)};`)],
      absWorkingDir: application.folder,
      bundle: true,
      write: false,
      platform: 'node',
      format: format === 'mjs' ? 'esm' : 'cjs',
      external: PEERS.flatMap((peer) => [peer, `${peer}/*`]),
      logLevel: 'silent',
    });
    expect([errors, warnings]).toEqual([[], []]);
    expect(outputFiles[0]!.text.length).toBeGreaterThan(1_000);
  });
});

it.each(FORMATS)('the entry points share their classes: %s', async (format) => {
  const code = `
    const all = [${ENTRIES.map(({ name }) => load(format, name)).join(', ')}];
    const classes = new Map();
    for (const one of all) {
      for (const [name, value] of Object.entries(one)) {
        if (/^class /.test(String(value))) classes.set(name, (classes.get(name) ?? new Set()).add(value));
      }
    }
    console.log(classes.size > 10, [...classes].filter(([, values]) => values.size > 1).map(([name]) => name));`;
  expect(await application.run(application.write(`shared.${format}`, code))).toBe('true []\n');
});

/** Code that an application needs when it boots, or when it uses the feature. */
const LATER = {
  'the engine': 'class Engine',
  'the runtime': 'class AssembledRuntime',
  'the parser of policies': 'function parsePolicy(',
  'the store on Redis': 'class LoadedRedisStore',
  'a Cluster': 'class NodeLanes',
  metrics: 'Decisions of a full memory store on a state that clients without room share',
  'what endpoints answer': 'class AdminDesk',
  'the testing kit': 'class VirtualClock',
};

/** The texts of the files of both packages that the main entry point loads. */
async function loadedBy(format: string): Promise<string> {
  if (format === 'cjs') {
    const code = `
      require('nestjs-floodgate');
      ${PRINT_LOADED}`;
    return application.run(application.write('cache.cjs', code));
  }
  const loaded = new Map<string, string>();
  const visit = (packed: Packed, file: string): void => {
    const key = `${packed.name}/${file}`;
    if (loaded.has(key)) return;
    const text = packed.textOf(`dist/${file}`);
    loaded.set(key, text);
    for (const [, path] of text.matchAll(/(?:from|import)\s*"([^"]+)"/g)) {
      const [, entry] = /^floodgate(?:\/([\w-]+))?$/.exec(path!) ?? [];
      if (path!.startsWith('floodgate')) visit(ENGINE, `${entry ?? 'index'}.js`);
      if (path!.startsWith('.')) visit(packed, new URL(path!, `file:///${file}`).pathname.slice(1));
    }
  };
  visit(LIBRARY, 'index.js');
  return [...loaded.values()].join('\n');
}

/** Prints the texts of the files of both packages that a process of CommonJS has loaded. */
const PRINT_LOADED = `
  const files = Object.keys(require.cache).filter((file) => /floodgate\\/dist\\//.test(file));
  console.log(files.map((file) => require('node:fs').readFileSync(file, 'utf8')).join('\\n'));`;

it.each(FORMATS)(
  'the main entry point loads what an application names, and nothing that it needs at boot or later: %s',
  async (format) => {
    const text = await loadedBy(format);
    const whole = PACKAGES.flatMap(({ packed }) =>
      packed.files
        .filter((file) => file.endsWith(format === 'mjs' ? '.js' : '.cjs'))
        .map((file) => packed.textOf(file)),
    ).join('\n');
    expect(text).toContain('class RateLimitGuard');
    for (const [what, marker] of Object.entries(LATER)) {
      expect({ what, there: whole.includes(marker), loaded: text.includes(marker) }).toEqual({
        what,
        there: true,
        loaded: false,
      });
    }
    expect(text.length).toBeLessThan(100_000);
  },
);

/** What an application of CommonJS has loaded once it has booted. */
async function bootedBy(metadata: string): Promise<string> {
  const code = `
    require('reflect-metadata');
    const { Module } = require('@nestjs/common');
    const { NestFactory } = require('@nestjs/core');
    const floodgate = require('nestjs-floodgate');
    const client = { evalsha: async () => [], eval: async () => [], del: async () => 1 };
    class App {}
    Module({ imports: ${metadata} })(App);
    NestFactory.createApplicationContext(App, { logger: ['error', 'fatal'], abortOnError: false }).then((app) => {
      ${PRINT_LOADED}
      return app.close();
    });`;
  return application.run(application.write('booted.cjs', code));
}

it.each([
  ['floodgate.RateLimitModule.forRoot()', false, false],
  ['floodgate.RateLimitModule.forRoot({ store: new floodgate.RedisStore(client) })', true, false],
  [
    'floodgate.RateLimitModule.forRoot(), floodgate.RateLimitAdminModule.register({ guards: [{ canActivate: () => true }] })',
    false,
    true,
  ],
])('an application loads what it has configured: %s', async (metadata, redis, admin) => {
  const text = await bootedBy(`[${metadata}]`);
  expect(text).toContain('class AssembledRuntime');
  expect({ redis: text.includes(LATER['the store on Redis']), lua: text.includes("redis.call('TIME')") }).toEqual({
    redis,
    lua: redis,
  });
  expect(text.includes(LATER['what endpoints answer'])).toBe(admin);
  expect(text).not.toContain(LATER.metrics);
});

it.each(FORMATS)(
  'a store on Redis decides before any application has booted, in the order of its calls: %s',
  async (format) => {
    const code = `
    const { RedisStore } = ${load(format, 'floodgate/redis')};
    const calls = [];
    const answer = (name) => async () => {
      calls.push(name);
      throw new Error('no Redis here');
    };
    const store = new RedisStore({ evalsha: answer('evalsha'), eval: answer('eval'), del: answer('del') });
    for (const wrong of [() => new RedisStore({}), () => new RedisStore({ evalsha() {}, eval() {}, del() {} }, { clock: 7 })]) {
      try { wrong(); } catch (error) { console.log(error.name); }
    }
    const asked = [store.refund([]), store.reset(['a']), store.reset(['b'])];
    Promise.allSettled(asked).then((settled) => {
      console.log(...settled.map(({ status, reason }) => reason?.message ?? status), ...calls);
      return store.close();
    });`;
    expect(await application.run(application.write(`store.${format}`, code))).toBe(
      'RateLimitConfigError\nRateLimitConfigError\nfulfilled no Redis here no Redis here del del\n',
    );
  },
);

it.each(FORMATS)(
  'has each program of Lua once, for both formats, and loads it by a name that bundles follow: %s',
  (format) => {
    const withLua = PACKAGES.flatMap(({ packed }) =>
      packed.files.filter((file) => /\.c?js$/.test(file) && packed.textOf(file).includes("redis.call('TIME')")),
    );
    expect(withLua).toEqual(['dist/shared/programs.cjs']);
    const loading = ENGINE.files.filter((file) => file.endsWith(format === 'mjs' ? '.js' : '.cjs'));
    expect(loading.some((file) => /"\.\/programs\.cjs"/.test(ENGINE.textOf(file)))).toBe(true);
  },
);

it('a stack trace names the functions of the package, on lines that fit a terminal', async () => {
  for (const format of FORMATS) {
    const file = application.write(
      `trace.${format}`,
      `const { RateLimitModule } = ${load(format, LIBRARY.name)};\nRateLimitModule.forRoot([]);`,
    );
    const printed = await application.run(file);
    expect(printed).toMatch(/RateLimitConfigError: RateLimitModule: .*\n +at checkShape .*\n +at .*\.forRoot /);
    expect(Math.max(...printed.split('\n').map((line) => line.length))).toBeLessThan(1_000);
  }
});
