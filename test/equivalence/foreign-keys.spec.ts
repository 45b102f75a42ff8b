import { describe, expect, it } from '@jest/globals';
import type { AlgorithmName } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import type { Charge } from '../../libs/floodgate/src/stores/store.js';
import { ALL_ALGORITHMS, algorithmOf, SMALL_POLICIES } from '../support/algorithm-of.js';
import { contentsOf, useRedis } from '../support/redis-fixture.js';

const NOW = 19_900 * 86_400_000_000;
const clock = () => NOW;
const redis = useRedis();

/** Writes anything but a state under `key`. */
type Write = (key: string) => Promise<unknown>;

const set =
  (content: string | Buffer): Write =>
  (key) =>
    redis.client.set(key, content);

/** Instants as a log keeps them, 8 bytes each. */
function packed(...instants: number[]): Buffer {
  const bytes = Buffer.alloc(instants.length * 8);
  for (const [i, instant] of instants.entries()) bytes.writeDoubleBE(instant, i * 8);
  return bytes;
}

const FOREIGN: Readonly<Record<string, Write>> = {
  'a hash': (key) => redis.client.hset(key, 'field', '1'),
  'a stream': (key) => redis.client.xadd(key, '*', 'field', '1'),
};

const A_LIST: Readonly<Record<string, Write>> = { 'a list': (key) => redis.client.rpush(key, `${NOW}`) };

const UNREADABLE_TEXT: Readonly<Record<string, Write>> = {
  'an empty string': set(''),
  "'inf'": set('inf'),
  "'0x10'": set('0x10'),
  "' 12'": set(' 12'),
  "'1e15'": set('1e15'),
  'too few digits': set('172800000000000'),
  'digits with a fraction': set('1728000000000000.5'),
  'digits and a letter': set('17280000000000005x'),
  'digits and a line feed': set('17280000000000005\n'),
  'more digits than any state has': set('1728000000000000'.padEnd(64, '9')),
  'a megabyte of text': set('x'.repeat(1_000_000)),
};

/** The texts that a log of instants cannot read. */
const UNREADABLE_LOG: Readonly<Record<string, Write>> = {
  'packed instants of odd length': set(packed(NOW, NOW).subarray(0, 15)),
  'zeros of odd length': set(Buffer.alloc(15)),
  'one byte more': set(Buffer.concat([packed(NOW), Buffer.of(0)])),
  NaN: set(packed(NaN)),
  Infinity: set(packed(NOW - 1, Infinity)),
  'a negative instant': set(packed(-1, NOW)),
  'a fraction': set(packed(NOW + 0.5)),
  '2^53': set(packed(2 ** 53)),
  'text of 8 letters': set('anything'),
  'digits as other algorithms keep them': set(`${NOW}`),
  'a list of words': (key) => redis.client.rpush(key, 'one', 'two'),
  'a list with an empty entry': (key) => redis.client.rpush(key, `${NOW - 1}`, ''),
  'a list of hexadecimals': (key) => redis.client.rpush(key, '0x10'),
  "a list of 'inf'": (key) => redis.client.rpush(key, 'inf'),
  'a list of instants beyond 2^53': (key) => redis.client.rpush(key, '9007199254740992'),
};

/** The texts that an algorithm cannot read; by default those of UNREADABLE_TEXT. */
const UNREADABLE: Readonly<Partial<Record<AlgorithmName, Readonly<Record<string, Write>>>>> = {
  'token-bucket': { ...UNREADABLE_TEXT, 'ticks of 9 digits': set(`${NOW}123456789`) },
  'leaky-bucket': { ...UNREADABLE_TEXT, 'ticks of 9 digits': set(`${NOW}123456789`) },
  'fixed-window': { ...UNREADABLE_TEXT, 'an instant without a count': set(`${NOW}`) },
  'sliding-window-counter': {
    ...UNREADABLE_TEXT,
    'an instant without counts': set(`${NOW}`),
    'an instant with one count': set(`${NOW}0000000000000001`),
  },
  'sliding-window-log': UNREADABLE_LOG,
  concurrency: UNREADABLE_LOG,
};

const CASES = ALL_ALGORITHMS.flatMap((name) => {
  const foreign = { ...FOREIGN, ...(UNREADABLE[name] === UNREADABLE_LOG ? {} : A_LIST) };
  return [
    ...Object.entries(foreign).map(([title, write]) => ({ name, title, write, message: 'foreign type' })),
    ...Object.entries(UNREADABLE[name] ?? UNREADABLE_TEXT).map(([title, write]) => ({
      name,
      title,
      write,
      message: 'unreadable state',
    })),
  ];
});

describe('a key that another program has written', () => {
  it.each(CASES)('$name, $title: fails only its own requests in the batch, and stays as it is', async (given) => {
    const { name, write, message } = given;
    const algorithm = algorithmOf(SMALL_POLICIES[name]);
    const other = algorithmOf(SMALL_POLICIES['sliding-window-counter']);
    await write('bad');
    await redis.client.pexpire('bad', 1_000_000);
    const [before] = await contentsOf(redis.client, ['bad']);

    const good: Charge = { key: 'good', algorithm, cost: 1 };
    const bad: Charge = { key: 'bad', algorithm, cost: 1 };
    const beside: Charge = { key: 'beside', algorithm: other, cost: 1 };
    const requests = [
      [good],
      [bad],
      [beside, bad],
      [bad, beside],
      [beside],
      [{ ...bad, cost: 0 }],
      [good],
      [good, beside],
    ];
    const store = new RedisStore(redis.client, { clock });
    const answers = await Promise.allSettled(requests.map((charges) => store.consume(charges)));

    const memory = new MemoryStore({ clock });
    const failed = { status: 'rejected', reason: expect.objectContaining({ name: 'RateLimitStoreError' }) };
    for (const [i, charges] of requests.entries()) {
      const touchesBad = charges.some(({ key }) => key === 'bad');
      const wanted = touchesBad ? failed : { status: 'fulfilled', value: memory.consume(charges) };
      expect(answers[i]).toEqual(wanted);
    }
    await expect(store.consume([bad])).rejects.toThrow(message);
    expect(await contentsOf(redis.client, ['bad'])).toEqual([before]);
    expect(await redis.client.pttl('bad')).toBeGreaterThan(900_000);
  });

  it.each(ALL_ALGORITHMS)('%s: works again after a reset', async (name) => {
    const charges = [{ key: 'bad', algorithm: algorithmOf(SMALL_POLICIES[name]), cost: 1 }];
    await redis.client.hset('bad', 'field', '1');
    const store = new RedisStore(redis.client, { clock });
    await expect(store.consume(charges)).rejects.toThrow('foreign type');
    await store.reset(['bad']);
    expect(await store.consume(charges)).toMatchObject({ allowed: true });
  });
});
