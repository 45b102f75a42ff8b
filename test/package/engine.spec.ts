import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Application, ENGINE } from './support/packed.js';

/** The snippet of libs/floodgate/README.md, as it is packed. */
const SNIPPET = /^```ts[^\n]*\n(.*?)^```$/ms.exec(ENGINE.textOf('README.md'))![1]!;

let alone: Application;

beforeAll(() => {
  alone = new Application([], ENGINE);
});
afterAll(() => alone.delete());

describe('floodgate, in an application without a framework', () => {
  it('runs the snippet of its README', async () => {
    const printed = await alone.run(alone.write('readme.mjs', SNIPPET));
    expect(printed).toMatch(/^1 sent\n2 sent\n3 sent\n4 sent\n5 sent\n6 again in (?:10000|\d{1,4}(?:\.\d+)?) ms\n$/);
  });

  it('limits from CommonJS, too', async () => {
    const code = `
      const { createLimiter } = require('floodgate');
      createLimiter({ policies: { one: { algorithm: 'fixed-window', limit: 1, window: '1h', by: 'global' } } }).then(
        async (limiter) => {
          for (let i = 0; i < 2; i++) console.log((await limiter.consume('one')).allowed);
          await limiter.close();
        },
      );`;
    expect(await alone.run(alone.write('script.cjs', code))).toBe('true\nfalse\n');
  });

  it('speaks of Nest in no message, but where it says so', () => {
    const texts = ENGINE.files.filter((file) => file.endsWith('.js')).map((file) => ENGINE.textOf(file));
    const found = texts.flatMap(
      (text) => text.match(/.{0,40}(?:RateLimitModule|forRoot|@RateLimit|the module's|the guard).{0,20}/g) ?? [],
    );
    expect(found.filter((words) => !/(?:with|of) Nest\b/i.test(words))).toEqual([]);
  });

  it('needs no package of Nest', () => {
    const kinds = ['dependencies', 'peerDependencies'] as const;
    const needed = kinds.flatMap((kind) => Object.keys((ENGINE.manifest as never)[kind] ?? {}));
    expect(needed).toEqual(['ipaddr.js', '@opentelemetry/api', 'ioredis', 'prom-client', 'redis']);
  });
});
