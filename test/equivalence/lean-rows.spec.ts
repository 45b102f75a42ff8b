import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Batch } from '../../libs/rate-limit/src/stores/redis/batch/batch.js';
import { ALL_ALGORITHMS, algorithmOf, SMALL_POLICIES } from '../support/algorithm-of.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';
import { settledTail } from '../support/settled-tail.js';

const redis = useRedis();
const PLACES = 5;
/** After every time that the tests may run at: a state's expiry is never over. */
const FUTURE = 4_000_000_000_000_000;

/** Runs both programs for every step, each on its own keys. TIME answers what the step says. Returns replies and writes. */
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
for k = 1, 2 do programs[k] = assert(loadstring('local redis, KEYS, ARGV = ...\\n' .. ARGV[k])) end
for i = 3, #ARGV do
  local step = cjson.decode(ARGV[i])
  time = step.time
  for k = 1, 2 do
    writes = {}
    results[#results + 1] = { programs[k](fake, step.keys[k], step.args[k]), writes }
  end
end
return results
`;

const near = fc.oneof(fc.integer({ min: -5_000_000, max: 5_000_000 }), fc.constantFrom(0, -1, 1, 3_600_000_000_000));
const tail = fc.oneof(
  { weight: 6, arbitrary: fc.constant('') },
  fc.constantFrom('0', '3', '0000000000000003', '00000000000000010000000000000002', ':0:0:5', 'x'),
  fc.stringMatching(/^[0-9]{0,18}$/),
);
/** Of a settled token bucket: counts, and numbers that are none. */
const settled = fc
  .tuple(
    fc.constantFrom(0, 9, 2_000_000, 2 ** 53 - 1, -1),
    fc.constantFrom(0, FUTURE + 2_000_000, 2 ** 53 - 1, 0.5),
    fc.constantFrom(0, 5, 1_000_000, NaN, 2 ** 53),
  )
  .map((numbers) => settledTail(...numbers));
const raws = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constant('hash' as const) },
  { weight: 6, arbitrary: fc.record({ near, tail: tail.map((text) => Buffer.from(text)) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      near,
      tail: fc
        .tuple(fc.constantFrom('', '', '3'), settled, fc.constantFrom('', '', '/40000000000:3:0', ':'))
        .map(([rest, bytes, end]) => Buffer.concat([Buffer.from(rest), bytes, Buffer.from(end)])),
    }),
  },
);
const steps = fc.array(
  fc.record({
    later: fc.oneof(fc.integer({ min: 0, max: 3_000_000 }), fc.constantFrom(-2_000_000, 60_000_000)),
    places: fc.uniqueArray(fc.nat({ max: PLACES - 1 }), { minLength: 2, maxLength: PLACES }),
    count: fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, fc.integer({ min: 1, max: 300 })),
    cost: fc.constantFrom(1, 1, 0, 2),
    headroom: fc.constantFrom(0, 0, 1, 3),
  }),
  { minLength: 1, maxLength: 12 },
);

const CASES = ALL_ALGORITHMS.flatMap((name) => [[name, 'one server'] as const, [name, 'a node of a Cluster'] as const]);

it.each(CASES)(
  'the lean program decides and writes rows of one %s on %s as the program for any batch does',
  async (name, where) => {
    const algorithm = algorithmOf(SMALL_POLICIES[name]);
    await fc.assert(
      fc.asyncProperty(fc.array(raws, { minLength: PLACES, maxLength: PLACES }), steps, async (states, history) => {
        await redis.client.flushdb();
        for (const [i, raw] of states.entries()) {
          for (const key of [`a${i}`, `b${i}`]) {
            if (raw === 'hash') await redis.client.hset(key, 'field', '1');
            else if (raw !== undefined)
              await redis.client.set(key, Buffer.concat([Buffer.from(`${FUTURE + raw.near}`), raw.tail]));
          }
        }
        let now = FUTURE;
        const texts: string[] = [];
        const asked = history.map(({ later, places, count, cost, headroom }) => {
          now = Math.max(FUTURE, now + later);
          const calls = ['a', 'b'].map((side, k) => {
            const batch = new Batch();
            const ignore = (): void => undefined;
            for (const [i, place] of places.entries()) {
              const charges = [{ key: `${side}${place}`, algorithm, cost, headroom }];
              for (let n = 0; n < (i === 0 ? count : 1); n++) {
                batch.add({ charges, resolve: ignore, reject: ignore, next: undefined });
              }
            }
            const call = k === 0 ? batch.encodeLean(undefined, 0)! : batch.encodeRows(undefined, 0);
            texts[k] = call.program.text;
            const keys = call.args.slice(0, call.keys);
            const declared = k === 0 && where !== 'one server' ? 1 : call.keys;
            return [keys.slice(0, declared), [...call.args.slice(call.keys), ...keys.slice(declared)]] as const;
          });
          const time = [String(Math.floor(now / 1_000_000)), String(now % 1_000_000)];
          return JSON.stringify({ time, keys: calls.map(([keys]) => keys), args: calls.map(([, args]) => args) });
        });
        const results = (await redis.client.eval(BOTH, 0, ...texts, ...asked)) as unknown[];
        for (let i = 0; i < results.length; i += 2) expect(results[i]).toEqual(results[i + 1]);
      }),
      histories(),
    );
  },
  HISTORY_TIMEOUT_MS,
);
