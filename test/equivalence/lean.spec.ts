import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Batch } from '../../libs/floodgate/src/stores/redis/batch/batch.js';
import type { Charge } from '../../libs/floodgate/src/stores/store.js';
import { ALL_ALGORITHMS, algorithmOf, SMALL_POLICIES } from '../support/algorithm-of.js';
import { anywhere, MovingClock } from '../support/arbitrary-instants.js';
import { costFor, costs, type Versions, versionsOf } from '../support/arbitrary-policies.js';
import { expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';
import { settledTail } from '../support/settled-tail.js';

const redis = useRedis();
const PLACES = 5;
/** After every time that the tests may run at: a state's expiry is never over. */
const FUTURE = 4_000_000_000_000_000;

/**
 * Runs both programs for every step, each on its own keys. TIME answers what the step says. Returns for each step and program the
 * reply, and the commands that wrote: they say the states and when they expire.
 */
const BOTH = `
local READS = { GET = true, MGET = true, EXISTS = true, LLEN = true, LINDEX = true }
local time, writes
-- Bytes that are no text are shown by number: a reply that is read as text would not tell them apart.
local function shown(value) return (string.gsub(tostring(value), '[^%w :/.-]', function(char) return '\\\\' .. string.byte(char) end)) end
local fake = { pcall = redis.pcall, call = function(command, ...)
  if command == 'TIME' then return time end
  if not READS[command] then writes[#writes + 1] = command .. ' ' .. string.sub((...), 2) .. ' ' .. shown(table.concat({ select(2, ...) }, ' ')) end
  return redis.call(command, ...)
end }
local programs, results = {}, {}
local count = tonumber(ARGV[1])
for i = 1, count do programs[i] = assert(loadstring('local redis, KEYS, ARGV = ...\\n' .. ARGV[1 + i])) end
for i = count + 2, #ARGV do
  local step = cjson.decode(ARGV[i])
  time = step.time
  for k = 1, 2 do
    writes = {}
    results[#results + 1] = { programs[step.programs[k]](fake, step.keys[k], step.args[k]), writes }
  end
end
return results
`;

const nearly = fc.oneof(
  fc.integer({ min: -5_000_000, max: 5_000_000 }),
  fc.constantFrom(0, -1, 1, 86_400_000_000, -86_400_000_000, 3_600_000_000_000),
);
const digits = fc.oneof(
  fc.constantFrom('0', '1', '7', '0000000000000003', '12345678', ':', ':0:0:5', '/20000000000:3:0', 'x'),
  fc.stringMatching(/^[0-9]{0,18}$/),
);
/** The tail of a settled token bucket: counts, and numbers that are none. */
const settled = fc
  .tuple(
    fc.constantFrom(0, 9, 2_000_000, 2 ** 53 - 1, -1),
    fc.constantFrom(0, 1_800_000_000_000_000, FUTURE + 5_000_000, 2 ** 53 - 1, 0.5),
    fc.constantFrom(0, 5, 1_000_000, NaN, 2 ** 53),
  )
  .map((numbers) => settledTail(...numbers));
const tails = fc.array(fc.oneof({ weight: 2, arbitrary: digits }, { weight: 1, arbitrary: settled }), { maxLength: 2 });
/** A state that is there before the first step; `near` is an instant by the history's start. */
const raws = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('none' as const, 'none' as const, 'hash' as const) },
  {
    weight: 6,
    arbitrary: fc.record({ text: fc.oneof({ weight: 9, arbitrary: nearly }, fc.string()), tail: tails }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('packed' as const, 'list' as const),
      near: fc.array(nearly, { minLength: 1, maxLength: 300 }),
    }),
  },
);
type Raw = typeof raws extends fc.Arbitrary<infer T> ? T : never;

const steps = fc.array(
  fc.record({
    move: anywhere,
    version: fc.nat({ max: 1 }),
    cost: costs,
    mode: fc.constantFrom('take' as const, 'take' as const, 'take' as const, 'peek' as const),
    headroom: fc.constantFrom(0, 0, 1, 3),
    /** The keys of the batch, each in a row. The first row counts as many requests. */
    places: fc.uniqueArray(fc.nat({ max: PLACES - 1 }), { minLength: 1, maxLength: PLACES }),
    count: fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, fc.integer({ min: 1, max: 300 })),
  }),
  { minLength: 1, maxLength: 12 },
);
type Step = typeof steps extends fc.Arbitrary<(infer T)[]> ? T : never;

/** `maxSkew` is undefined with Redis's clock. */
const clocks = fc.oneof(
  fc.record({
    maxSkew: fc.constant(undefined),
    start: fc.integer({ min: FUTURE, max: FUTURE + 86_400_000_000 }),
  }),
  fc.record({
    maxSkew: fc.constantFrom(0, 250, 1_000_000, 10_000_000),
    start: fc.integer({ min: 1_700_000_000_000_000, max: 1_800_000_000_000_000 }),
  }),
);
interface History {
  readonly versions: Versions;
  readonly states: readonly Raw[];
  readonly maxSkew: number | undefined;
  readonly start: number;
  readonly steps: readonly Step[];
  /** Whether a call declares one key alone, as to a node of a Cluster. */
  readonly byNode: boolean;
}

async function give(key: string, raw: Raw, start: number): Promise<void> {
  if (raw === 'none') return;
  if (raw === 'hash') return void (await redis.client.hset(key, 'field', '1'));
  if ('text' in raw) {
    const text = typeof raw.text === 'string' ? raw.text : String(start + raw.text).padStart(16, '0');
    return void (await redis.client.set(key, Buffer.concat([text, ...raw.tail].map((part) => Buffer.from(part)))));
  }
  const instants = raw.near.map((by) => Math.max(0, start + by)).toSorted((a, b) => a - b);
  if (raw.kind === 'list') return void (await redis.client.rpush(key, ...instants.map(String)));
  const bytes = Buffer.alloc(instants.length * 8);
  for (const [i, instant] of instants.entries()) bytes.writeDoubleBE(instant, i * 8);
  await redis.client.set(key, bytes);
}

function batchOf(requests: readonly (readonly Charge[])[]): Batch {
  const batch = new Batch();
  const ignore = (): void => undefined;
  for (const charges of requests) batch.add({ charges, resolve: ignore, reject: ignore, next: undefined });
  return batch;
}

type Result = readonly [reply: readonly number[], writes: readonly string[]];

/** The results of each step: of the lean program, and of the program that decides any batch. */
async function run({ versions, states, maxSkew, start, steps: all, byNode }: History): Promise<[Result, Result][]> {
  await redis.client.flushdb();
  for (const [i, raw] of states.entries()) for (const side of 'ab') await give(`${side}${i}`, raw, start);
  const algorithms = versions.map(algorithmOf);
  const clock = new MovingClock(start, 30_000_000);
  const texts: string[] = [];
  const asked = all.map(({ move, version, cost, mode, headroom, places, count }) => {
    clock.move(move, algorithms[0]!, []);
    const algorithm = algorithms[version] ?? algorithms[0]!;
    const now = Math.max(start, clock.now); // a TIME behind the server's would write an expiry that is over
    const charge = { algorithm, cost: costFor(algorithm, cost), mode, headroom };
    const calls = ['a', 'b'].map((side, k) => {
      const requests = places.flatMap((place, i) =>
        Array.from({ length: i === 0 ? count : 1 }, () => [{ ...charge, key: `${side}${place}` }]),
      );
      const [given, skew] = [maxSkew === undefined ? undefined : clock.now, maxSkew ?? 0];
      const batch = batchOf(requests);
      const { program, keys: length, args } = k === 0 ? batch.encodeLean(given, skew)! : batch.encodeRows(given, skew);
      if (!texts.includes(program.text)) texts.push(program.text);
      const keys = args.slice(0, length);
      const declared = k === 0 && byNode ? 1 : length;
      return {
        program: texts.indexOf(program.text) + 1,
        keys: keys.slice(0, declared),
        args: [...args.slice(length), ...keys.slice(declared)],
      };
    });
    return JSON.stringify({
      time: [String(Math.floor(now / 1_000_000)), String(now % 1_000_000)],
      programs: calls.map(({ program }) => program),
      keys: calls.map(({ keys }) => keys),
      args: calls.map(({ args }) => args),
    });
  });
  const flat = (await redis.client.eval(BOTH, 0, texts.length, ...texts, ...asked)) as Result[];
  return all.map((_, i) => [flat[2 * i]!, flat[2 * i + 1]!]);
}

describe('the lean program answers and writes as the program that decides any batch', () => {
  it.each(ALL_ALGORITHMS.flatMap((name) => [[name, 'one server'] as const, [name, 'a node of a Cluster'] as const]))(
    '%s, on %s',
    async (name, where) => {
      const states = fc.array(raws, { minLength: PLACES, maxLength: PLACES });
      const law = fc.asyncProperty(versionsOf(name), states, clocks, steps, async (versions, given, clock, all) => {
        const history = { versions, states: given, ...clock, steps: all, byNode: where !== 'one server' };
        for (const [lean, rows] of await run(history)) expectSame(lean, rows);
      });
      await fc.assert(law, histories());
    },
    HISTORY_TIMEOUT_MS,
  );

  it.each(ALL_ALGORITHMS)(
    '%s: over a state of a foreign type, an unreadable one, and up to the limit',
    async (name) => {
      const move = { by: 0 };
      const once = {
        move,
        version: 0,
        cost: { units: 1 },
        mode: 'take' as const,
        headroom: 0 as const,
        places: [0],
        count: 1,
      };
      const replies = async (raw: Raw): Promise<(readonly number[])[]> => {
        const all = Array.from({ length: 8 }, () => once);
        const history = { versions: [SMALL_POLICIES[name]] as const, states: [raw], start: FUTURE, maxSkew: undefined };
        const results = await run({ ...history, steps: all, byNode: false });
        for (const [lean, rows] of results) expectSame(lean, rows);
        return results.map(([[reply]]) => reply);
      };
      expect((await replies('hash'))[0]).toEqual([FUTURE, -1]);
      expect((await replies({ text: 'garbage', tail: [] }))[0]).toEqual([FUTURE, -2]);
      const levels = await replies('none');
      expect(levels[0]).not.toEqual(levels[1]); // charged
      expect(levels.at(-1)).toEqual(levels.at(-2)); // rejected
    },
  );

  it('is asked for rows of one policy without shadow, block or refundMarker, each on a key of its own', () => {
    const algorithm = algorithmOf(SMALL_POLICIES['token-bucket']);
    const window = algorithmOf(SMALL_POLICIES['fixed-window']);
    const one = { key: 'a', algorithm, cost: 1 };
    const isLean = (...requests: Charge[][]): boolean => batchOf(requests).encodeLean(undefined, 0) !== undefined;
    expect(isLean([one])).toBe(true);
    expect(isLean([one], [one], [{ ...one }])).toBe(true);
    expect(isLean([{ ...one, algorithm: window, mode: 'reserve' }])).toBe(true);
    expect(isLean([{ ...one, mode: 'reserve' }])).toBe(false);
    expect(isLean([{ ...one, shadow: true }])).toBe(false);
    expect(isLean([one], [{ ...one, key: 'b' }], [one])).toBe(true);
    expect(isLean([one], [{ ...one, cost: 3 }])).toBe(false);
    expect(isLean([one], [{ ...one, key: 'b', algorithm: window }])).toBe(false);
    expect(isLean([one, { ...one, key: 'b' }])).toBe(false);
  });
});
