import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RedisServer } from '../support/redis-server.js';
import { Application } from './support/packed.js';

/** What a process prints that has nothing to do but to wait for the limiter. It ends by itself. */
const CALLS = {
  'scheduled calls': [
    `await Promise.all([1, 2, 3, 4, 5].map((n) => limiter.schedule('tokens', () => n)))`,
    [1, 2, 3, 4, 5],
  ],
  'calls that wait for departures': [
    `await Promise.all([1, 2, 3].map((n) => limiter.schedule('departures', () => n)))`,
    [1, 2, 3],
  ],
  'calls that wait for a place': [
    `await Promise.all([1, 2, 3].map((n) => limiter.schedule('places', () => new Promise((end) => setTimeout(end, 30, n)))))`,
    [1, 2, 3],
  ],
  'a call that gives up': [
    `await limiter.schedule('slow', () => 1).then(() => limiter.schedule('slow', () => 2, { maxWait: 7_300_000, signal: AbortSignal.timeout(50) })).catch(({ name }) => name)`,
    'TimeoutError',
  ],
  'a pause': [
    `(await limiter.pause('mine', ada, { for: 60 }), await limiter.schedule('mine', ada, () => 'paused'))`,
    'paused',
  ],
  'requests to a partner': [
    `await Promise.all([1, 2, 3].map((n) => limitedFetch(limiter, 'tokens', { fetch: async () => new Response(n) })('http://partner').then((r) => r.text())))`,
    ['1', '2', '3'],
  ],
  'requests of axios to a partner': [
    `await (async () => { const client = axios.create({ adapter: async (config) => ({ config, headers: {}, status: 200, data: config.params }) }); limitedAxios(limiter, 'tokens', client); return (await Promise.all([1, 2, 3].map((params) => client.get('http://partner', { params })))).map(({ data }) => data); })()`,
    [1, 2, 3],
  ],
  'the client, which a server tells to wait': [
    `await rateLimitFetch({ fetch: limitedAnswers() })('http://server').then((r) => r.text())`,
    'passed',
  ],
  'a settlement': [
    `await (async () => { const held = await limiter.reserve('budget', ada, { cost: 5 }); return (await held.settle(2), (await limiter.peek('budget', ada)).policies[0].remaining); })()`,
    98,
  ],
} as const;

const POLICIES = `{
  tokens: { algorithm: 'token-bucket', capacity: 1, refill: '20/s', by: 'global' },
  departures: { algorithm: 'leaky-bucket', capacity: 10, drain: '20/s', by: 'global' },
  places: { algorithm: 'concurrency', limit: 1, lease: '5s', by: 'global' },
  slow: { algorithm: 'token-bucket', capacity: 1, refill: '1/h', by: 'global' },
  mine: { algorithm: 'token-bucket', capacity: 1, refill: '20/s' },
  budget: { algorithm: 'fixed-window', limit: 100, window: '300d' },
}`;

const NAMES = ['RateLimitModule', 'RateLimiter', 'limitedAxios', 'limitedFetch'];
const CLIENTS = ['ioredis', 'redis'];

/**
 * @param options of the module, as code
 * @param before runs when everything is imported
 */
function program(format: 'mjs' | 'cjs', options: string, call: string, before = ''): string {
  const load = (names: readonly string[], from: string): string =>
    format === 'mjs'
      ? `import { ${names.join(', ')} } from '${from}';`
      : `const { ${names.join(', ')} } = require('${from}');`;
  return `
    ${format === 'mjs' ? `import 'reflect-metadata';` : `require('reflect-metadata');`}
    ${load(['NestFactory'], '@nestjs/core')}
    ${load(NAMES, 'nestjs-floodgate')}
    ${load(['mock'], 'node:test')}
    ${load(['rateLimitFetch'], 'floodgate-client')}
    ${format === 'mjs' ? `import axios from 'axios';` : `const { default: axios } = require('axios');`}
    function limitedAnswers() {
      const answers = [new Response(null, { status: 429, headers: { 'Retry-After': '1' } }), new Response('passed')];
      return async () => answers.shift();
    }
    async function main() {
      ${before}
      const app = await NestFactory.createApplicationContext(RateLimitModule.forRoot(${options}), { logger: false });
      const limiter = app.get(RateLimiter);
      const ada = { kind: 'user', value: 'ada' };
      console.log(JSON.stringify(${call}));
      await app.close();
      console.log('closed');
    }
    ${format === 'mjs' ? 'await main();' : 'void main();'}`;
}

/** One for each client of Redis. */
let applications: Application[];
let application: Application;
let server: RedisServer;

beforeAll(async () => {
  const others = ['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs', 'axios', 'floodgate-client'];
  applications = CLIENTS.map((client) => new Application([...others, client]));
  application = applications[0]!;
  server = await RedisServer.start();
});
afterAll(async () => {
  for (const each of applications) each.delete();
  await server.stop();
});

describe.each(['mjs', 'cjs'] as const)('a process that only waits, as %s', (format) => {
  it.each(Object.keys(CALLS) as (keyof typeof CALLS)[])('sees the end of %s', async (name) => {
    const [call, result] = CALLS[name];
    const wanted = `${JSON.stringify(result)}\nclosed\n`;
    const run = async (on: Application, options: string, file: string): Promise<string> =>
      on.run(on.write(`${file}.${format}`, program(format, options, call)));
    expect(await run(application, `{ policies: ${POLICIES} }`, 'memory')).toBe(wanted);
    for (const [i, client] of CLIENTS.entries()) {
      const redis = `{ policies: ${POLICIES}, deadline: '10s', redis: '${server.url}', keyPrefix: '${client}-${format}' }`;
      expect(await run(applications[i]!, redis, 'redis')).toBe(wanted);
    }
  });

  it('closes when a test has faked the timers before the first module', async () => {
    const faked = `mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'setImmediate'] });`;
    const call = `(await limiter.consume('tokens')).allowed`;
    for (const options of ['{ policies: POLICIES }', `{ policies: POLICIES, redis: '${server.url}' }`]) {
      const code = program(format, options.replace('POLICIES', POLICIES), call, faked);
      expect(await application.run(application.write(`faked.${format}`, code))).toMatch(/^true\nclosed\n/);
    }
  });

  it('sees the answer of a store that never gives one, when the deadline has passed', async () => {
    const options = `{ policies: ${POLICIES}, deadline: 50, store: { consume: () => new Promise(() => {}), reset: () => {} } }`;
    const call = `(await limiter.consume('tokens')).decidedBy`;
    const file = application.write(`hangs.${format}`, program(format, options, call));
    expect(await application.run(file)).toBe('"local"\nclosed\n');
  });
});
