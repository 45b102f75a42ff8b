import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { OVERRIDES, REPORTS, RESERVATIONS } from '../../libs/floodgate/src/stores/redis/batch/programs.generated.js';
import { openRedis } from '../../libs/floodgate/src/stores/redis/clients/open-redis.js';
import { LoadedRedisStore } from '../../libs/floodgate/src/stores/redis/loaded-redis-store.js';
import { readStoreOptions } from '../../libs/floodgate/src/stores/redis/store-options.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { PROGRAMS } from '../support/programs.js';
import { useRedis } from '../support/redis-fixture.js';

/** The oldest Redis that the README promises. The tests themselves run on the one that is installed. */
const OLDEST = '6.2.0';

// It tells of its commands since when they exist; a Redis 6.2 does not.
const redis = useRedis([], { installed: true });

/** The commands of the programs, each written as the first argument of `redis.call`. */
const PROGRAM = [...PROGRAMS, OVERRIDES, REPORTS, RESERVATIONS].join('\n');
const CALLS = Array.from(PROGRAM.matchAll(/redis\.p?call\(([^,)]*)/g), ([, first]) => first!);
const called = new Set(CALLS.flatMap((first) => Array.from(first.matchAll(/'([A-Z]{3,})'/g), ([, name]) => name!)));
/** Those that the store itself sends through a client, or on a new connection. */
const SENT = ['EVALSHA', 'EVAL', 'DEL', 'INFO', 'PING', 'QUIT'];

type Docs = readonly unknown[];

/** The value behind a name in a reply that RESP2 flattens. */
const field = (docs: Docs, name: string): unknown => docs[docs.indexOf(name) + 1];
const has = (docs: Docs, name: string): boolean => docs.includes(name);

/** The options of a command, as `EXAT`, each with the version it came with. Redis says it at the option, or at a group around it. */
function optionsIn(docs: Docs, outer = '0.0.0'): [token: string, since: string][] {
  const since = has(docs, 'since') ? String(field(docs, 'since')) : outer;
  const nested = has(docs, 'arguments') ? (field(docs, 'arguments') as Docs[]) : [];
  const own: [string, string][] = has(docs, 'token') ? [[String(field(docs, 'token')), since]] : [];
  return [...own, ...nested.flatMap((argument) => optionsIn(argument, since))];
}

/** What Redis says itself of a command. https://redis.io/docs/latest/commands/command-docs */
async function docsOf(command: string): Promise<Docs> {
  const [, docs] = (await redis.client.call('COMMAND', 'DOCS', command)) as [string, Docs];
  return docs;
}

const isOld = (since: string): boolean => since.localeCompare(OLDEST, 'en', { numeric: true }) <= 0;

it('the program writes the name of every command out', () => {
  expect(CALLS.filter((first) => !/'[A-Z]{3,}'/.test(first))).toEqual([]);
  expect(PROGRAM.match(/redis\.\w+/g)!.filter((used) => !/^redis\.(?:call|pcall|sha1hex)$/.test(used))).toEqual([]);
  expect([...called]).toEqual(expect.arrayContaining(['TIME', 'GET', 'MGET', 'SET', 'RPUSH', 'PEXPIRE', 'EXPIREAT']));
});

it.each([...called, ...SENT])('Redis 6.2 has the command %s', async (command) => {
  const docs = await docsOf(command);
  expect(String(field(docs, 'since'))).toMatch(/^\d+\.\d+\.\d+$/);
  expect({ command, old: isOld(String(field(docs, 'since'))) }).toEqual({ command, old: true });
});

it('Redis 6.2 has the options of SET that the program uses', async () => {
  const known = new Map(optionsIn(await docsOf('SET')));
  const expiry = readFileSync(new URL('../../lua/text.lua', import.meta.url), 'utf8');
  const used = Array.from(expiry.matchAll(/return '([A-Z]+)'/g), ([, token]) => token!);
  expect(used).toEqual(['PX', 'KEEPTTL', 'EXAT']);
  expect(used.filter((token) => !isOld(known.get(token)!))).toEqual([]);
});

it('tells an option that came later', async () => {
  expect(isOld(new Map(optionsIn(await docsOf('EXPIRE'))).get('NX')!)).toBe(false); // 7.0
  expect(isOld('6.2.0') && isOld('2.6.12') && !isOld('6.2.1') && !isOld('10.0.0')).toBe(true);
});

it('the client sends nothing else but what ioredis needs to connect', async () => {
  const seen = new Set<string>();
  const monitor = await redis.client.monitor();
  monitor.on('monitor', (_, [name]: string[], source: string) => source !== 'lua' && seen.add(name!.toUpperCase()));
  const { client } = await openRedis(redis.server.url, 'redis');
  await client.connect();
  const store = new LoadedRedisStore(client, readStoreOptions({}));
  const algorithm = algorithmOf({ algorithm: 'token-bucket', capacity: 1, refill: 1 });
  await store.consume([{ key: 'rl:{user:ada}:one', algorithm, cost: 1, mode: 'take' }]);
  await store.reset(['rl:{user:ada}:one']);
  await client.close();
  await redis.client.ping();
  monitor.disconnect();
  const connecting = ['INFO', 'PING', 'CLIENT', 'HELLO', 'SELECT'];
  expect([...seen].filter((name) => ![...SENT, ...connecting].includes(name))).toEqual([]);
  expect([...seen]).toEqual(expect.arrayContaining(['EVALSHA', 'DEL']));
});
