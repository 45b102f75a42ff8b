import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Algorithm } from '../../libs/rate-limit/src/algorithms/algorithm.js';
import { Batch } from '../../libs/rate-limit/src/stores/redis/batch/batch.js';
import type { ScriptCall } from '../../libs/rate-limit/src/stores/redis/batch/programs.js';
import type { Charge } from '../../libs/rate-limit/src/stores/store.js';
import { ALL_ALGORITHMS, algorithmOf, SMALL_POLICIES } from '../support/algorithm-of.js';
import { anywhere, type Move, MovingClock } from '../support/arbitrary-instants.js';
import { type Cost, costFor, costs, type Versions, versionsOf } from '../support/arbitrary-policies.js';
import { expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';
import { settledTail } from '../support/settled-tail.js';

const redis = useRedis();
const KEYS = ['lean', 'rows'] as const;

/**
 * Runs both programs for every step, each on its own key. TIME answers what the step says. Returns for each step and program the
 * reply, and the key's type and content with the commands that wrote it: they say when the key expires.
 */
const BOTH = `
local READS = { GET = true, MGET = true, EXISTS = true, LLEN = true, LINDEX = true }
local time, writes
-- Bytes that are no text are shown by number: a reply that is read as text would not tell them apart.
local function shown(value) return (string.gsub(tostring(value), '[^%w :/.-]', function(char) return '\\\\' .. string.byte(char) end)) end
local fake = { pcall = redis.pcall, call = function(command, ...)
  if command == 'TIME' then return time end
  if not READS[command] then writes[#writes + 1] = command .. ' ' .. shown(table.concat({ select(2, ...) }, ' ')) end
  return redis.call(command, ...)
end }
local function state(key)
  local type = redis.call('TYPE', key).ok
  local content = ''
  if type == 'string' then content = shown(redis.call('GET', key)) end
  if type == 'list' then content = table.concat(redis.call('LRANGE', key, 0, -1), ',') end
  return { type, content, writes }
end
local programs, results = {}, {}
local count = tonumber(ARGV[1])
for i = 1, count do programs[i] = assert(loadstring('local redis, KEYS, ARGV = ...\\n' .. ARGV[1 + i])) end
for i = count + 2, #ARGV do
  local step = cjson.decode(ARGV[i])
  time = step.time
  for k = 1, 2 do
    writes = {}
    results[#results + 1] = programs[step.programs[k]](fake, { KEYS[k] }, step.args[k])
    results[#results + 1] = state(KEYS[k])
  end
end
return results
`;

/** A state that is there before the first step; `near` is an instant by the history's start. */
type Raw =
  | { readonly kind: 'none' | 'hash' }
  | { readonly kind: 'text'; readonly parts: readonly (string | Buffer | { readonly near: number })[] }
  | { readonly kind: 'packed' | 'list'; readonly near: readonly number[] };

const nearly = fc.oneof(
  fc.integer({ min: -5_000_000, max: 5_000_000 }),
  fc.constantFrom(0, -1, 1, 86_400_000_000, -86_400_000_000, 3_600_000_000_000),
);
const digits = fc.oneof(
  fc.constantFrom('0', '1', '7', '0000000000000003', '12345678', ':', ':0:0:5', '/20000000000:3:0'),
  fc.stringMatching(/^[0-9]{0,18}$/),
);
/** The tail of a settled token bucket: counts, and numbers that are none. */
const settled = fc
  .tuple(
    fc.constantFrom(0, 9, 2_000_000, 2 ** 53 - 1, -1),
    fc.constantFrom(0, 1_800_000_000_000_000, 4_000_000_005_000_000, 2 ** 53 - 1, 0.5),
    fc.constantFrom(0, 5, 1_000_000, NaN, 2 ** 53),
  )
  .map((numbers) => settledTail(...numbers));
const raws: fc.Arbitrary<Raw> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Raw>({ kind: 'none' }) },
  { weight: 1, arbitrary: fc.constant<Raw>({ kind: 'hash' }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('text' as const),
      parts: fc
        .tuple(
          fc.oneof({ weight: 9, arbitrary: fc.record({ near: nearly }) }, fc.string()),
          fc.array(fc.oneof({ weight: 2, arbitrary: digits }, { weight: 1, arbitrary: settled }), { maxLength: 2 }),
        )
        .map(([first, rest]) => [first, ...rest]),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('packed' as const, 'list' as const),
      near: fc.array(nearly, { minLength: 1, maxLength: 300 }),
    }),
  },
);

interface Step {
  readonly move: Move;
  readonly version: number;
  readonly cost: Cost;
  readonly peek: boolean;
  readonly count: number;
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    move: anywhere,
    version: fc.nat({ max: 1 }),
    cost: costs,
    peek: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
    count: fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, fc.integer({ min: 1, max: 300 })),
  }),
  { minLength: 1, maxLength: 12 },
);

interface History {
  readonly versions: Versions;
  readonly raw: Raw;
  readonly start: number;
  /** Undefined: Redis's clock. */
  readonly maxSkew: number | undefined;
  readonly steps: readonly Step[];
}

async function give(raw: Raw, start: number): Promise<void> {
  for (const key of KEYS) {
    if (raw.kind === 'hash') await redis.client.hset(key, 'field', '1');
    if (raw.kind === 'text') {
      const parts = raw.parts.map((part) => {
        if (Buffer.isBuffer(part)) return part;
        return Buffer.from(typeof part === 'string' ? part : String(start + part.near).padStart(16, '0'));
      });
      await redis.client.set(key, Buffer.concat(parts));
    }
    if (raw.kind === 'list') await redis.client.rpush(key, ...instantsOf(raw.near, start).map(String));
    if (raw.kind === 'packed') {
      const bytes = Buffer.alloc(raw.near.length * 8);
      for (const [i, instant] of instantsOf(raw.near, start).entries()) bytes.writeDoubleBE(instant, i * 8);
      await redis.client.set(key, bytes);
    }
  }
}

function instantsOf(near: readonly number[], start: number): number[] {
  return near.map((by) => Math.max(0, start + by)).toSorted((a, b) => a - b);
}

/** The calls of both programs for the same requests. */
function callsOf(charge: Omit<Charge, 'key'>, count: number, now: number | undefined, maxSkew: number): ScriptCall[] {
  return KEYS.map((key, i) => {
    const batch = new Batch();
    const charges = [{ ...charge, key }];
    const ignore = (): void => undefined;
    for (let n = 0; n < count; n++) batch.add({ charges, resolve: ignore, reject: ignore, next: undefined });
    return i === 0 ? batch.encodeLean(now, maxSkew)! : batch.encodeRows(now, maxSkew);
  });
}

type Result = readonly [reply: readonly number[], state: readonly unknown[]];

/** The results of each step: of the lean program, and of the program that decides any batch. */
async function run(history: History): Promise<[lean: Result, rows: Result][]> {
  const { versions, raw, start, maxSkew } = history;
  await redis.client.flushdb();
  await give(raw, start);
  const algorithms = versions.map(algorithmOf);
  const clock = new MovingClock(start, 30_000_000);
  const texts: string[] = [];
  const args = history.steps.map(({ move, version, cost: asked, peek, count }) => {
    clock.move(move, algorithms[0]!, []);
    const algorithm: Algorithm = algorithms[version] ?? algorithms[0]!;
    const now = Math.max(start, clock.now); // a TIME behind the server's would write an expiry that is over
    const charge = { algorithm, cost: costFor(algorithm, asked), mode: peek ? ('peek' as const) : ('take' as const) };
    const calls = callsOf(charge, count, maxSkew === undefined ? undefined : clock.now, maxSkew ?? 0);
    const programs = calls.map(({ program: { text } }) => {
      if (!texts.includes(text)) texts.push(text);
      return texts.indexOf(text) + 1;
    });
    const time = [String(Math.floor(now / 1_000_000)), String(now % 1_000_000)];
    return JSON.stringify({ time, programs, args: calls.map((call) => call.args.slice(call.keys)) });
  });
  const flat = (await redis.client.eval(BOTH, 2, ...KEYS, texts.length, ...texts, ...args)) as unknown[];
  return history.steps.map((_, i) => {
    const [lean, leanState, rows, rowsState] = flat.slice(4 * i, 4 * i + 4) as [
      number[],
      unknown[],
      number[],
      unknown[],
    ];
    return [
      [lean, leanState],
      [rows, rowsState],
    ];
  });
}

/** After every time that the tests may run at: a state's expiry is never over. */
const FUTURE = 4_000_000_000_000_000;

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

describe('the lean program answers and writes as the program that decides any batch', () => {
  it.each(ALL_ALGORITHMS)(
    '%s',
    async (name) => {
      const law = fc.asyncProperty(versionsOf(name), raws, clocks, steps, async (versions, raw, clock, given) => {
        for (const [lean, rows] of await run({ versions, raw, ...clock, steps: given })) expectSame(lean, rows);
      });
      await fc.assert(law, histories());
    },
    HISTORY_TIMEOUT_MS,
  );

  it.each(ALL_ALGORITHMS)(
    '%s: over a state of a foreign type, an unreadable one, and up to the limit',
    async (name) => {
      const versions: Versions = [SMALL_POLICIES[name]];
      const once = { version: 0, cost: { units: 1 }, peek: false, count: 1, move: { by: 0 } };
      const replies = async (raw: Raw): Promise<(readonly number[])[]> => {
        const results = await run({
          versions,
          raw,
          start: FUTURE,
          maxSkew: undefined,
          steps: Array.from({ length: 8 }, () => once),
        });
        for (const [lean, rows] of results) expectSame(lean, rows);
        return results.map(([[reply]]) => reply);
      };
      expect((await replies({ kind: 'hash' }))[0]).toEqual([FUTURE, -1]);
      expect((await replies({ kind: 'text', parts: ['garbage'] }))[0]).toEqual([FUTURE, -2]);
      const levels = await replies({ kind: 'none' });
      expect(new Set(levels.map((reply) => reply.join())).size).toBeGreaterThan(3); // charged
      expect(levels.at(-1)).toEqual(levels.at(-2)); // rejected
    },
  );

  it('is asked for rows of one policy without shadow, block or refundMarker, each on a key of its own', () => {
    const algorithm = algorithmOf(SMALL_POLICIES['token-bucket']);
    const window = algorithmOf(SMALL_POLICIES['fixed-window']);
    const isLean = (...requests: Charge[][]): boolean => {
      const batch = new Batch();
      for (const charges of requests) {
        batch.add({ charges, resolve: () => undefined, reject: () => undefined, next: undefined });
      }
      return batch.encodeLean(undefined, 0) !== undefined;
    };
    const one = { key: 'a', algorithm, cost: 1 };
    expect(isLean([one])).toBe(true);
    expect(isLean([one], [one], [{ ...one }])).toBe(true);
    expect(isLean([{ ...one, cost: 3 }])).toBe(true);
    expect(isLean([{ ...one, mode: 'peek' }])).toBe(true);
    expect(isLean([{ ...one, algorithm: window, mode: 'reserve' }])).toBe(true);
    expect(isLean([{ ...one, mode: 'reserve' }])).toBe(false);
    expect(isLean([{ ...one, shadow: true }])).toBe(false);
    expect(isLean([one], [{ ...one, key: 'b' }])).toBe(true);
    expect(isLean([one], [{ ...one, key: 'b' }], [one])).toBe(true);
    expect(isLean([one], [{ ...one, cost: 3 }])).toBe(false);
    expect(isLean([one], [{ ...one, key: 'b', cost: 3 }])).toBe(false);
    expect(isLean([one], [{ ...one, key: 'b', algorithm: window }])).toBe(false);
    expect(isLean([one, { ...one, key: 'b' }])).toBe(false);
  });
});
