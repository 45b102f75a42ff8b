import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Batch } from '../../libs/rate-limit/src/stores/redis/batch.js';
import { ROW_PROGRAMS } from '../../libs/rate-limit/src/stores/redis/node-script.js';
import { algorithmOf, SMALL_POLICIES } from '../support/algorithm-of.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';

const redis = useRedis();
const PLACES = 5;
/** After every time that the tests may run at: a state's expiry is never over. */
const FUTURE = 4_000_000_000_000_000;

/** Runs both programs for every step, each on its own keys. TIME answers what the step says. Returns replies and writes. */
const BOTH = `
local time, writes
local fake = { pcall = redis.pcall, call = function(command, ...)
  if command == 'TIME' then return time end
  if command == 'SET' then writes[#writes + 1] = string.sub((...), 2) .. ' ' .. table.concat({ select(2, ...) }, ' ') end
  return redis.call(command, ...)
end }
local results = {}
for i = 3, #ARGV do
  local step = cjson.decode(ARGV[i])
  time = step.time
  for k = 1, 2 do
    writes = {}
    local run = assert(loadstring('local redis, KEYS, ARGV = ...\\n' .. ARGV[k]))
    results[#results + 1] = { run(fake, step.keys[k], step.args[k]), writes }
  end
end
return results
`;

const near = fc.oneof(fc.integer({ min: -5_000_000, max: 5_000_000 }), fc.constantFrom(0, -1, 1, 3_600_000_000_000));
const tail = fc.oneof(
  { weight: 6, arbitrary: fc.constant('') },
  fc.constantFrom(
    '0',
    '3',
    '0000000000000003',
    '00000000000000010000000000000002',
    ':0:0:5',
    ':9:4000000002000000:0',
    'x',
  ),
  fc.stringMatching(/^[0-9]{0,18}$/),
);
const raws = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constant('hash' as const) },
  { weight: 6, arbitrary: fc.record({ near, tail }) },
);
const steps = fc.array(
  fc.record({
    later: fc.oneof(fc.integer({ min: 0, max: 3_000_000 }), fc.constantFrom(-2_000_000, 60_000_000)),
    places: fc.uniqueArray(fc.nat({ max: PLACES - 1 }), { minLength: 2, maxLength: PLACES }),
  }),
  { minLength: 1, maxLength: 12 },
);

it.each([...ROW_PROGRAMS.keys()])(
  'rows of one %s on a node are decided and written as by the program for any batch',
  async (name) => {
    const algorithm = algorithmOf(SMALL_POLICIES[name as keyof typeof SMALL_POLICIES]);
    await fc.assert(
      fc.asyncProperty(fc.array(raws, { minLength: PLACES, maxLength: PLACES }), steps, async (states, history) => {
        await redis.client.flushdb();
        for (const [i, raw] of states.entries()) {
          for (const key of [`a${i}`, `b${i}`]) {
            if (raw === 'hash') await redis.client.hset(key, 'field', '1');
            else if (raw !== undefined) await redis.client.set(key, `${FUTURE + raw.near}${raw.tail}`);
          }
        }
        let now = FUTURE;
        const texts: string[] = [];
        const asked = history.map(({ later, places }) => {
          now = Math.max(FUTURE, now + later);
          const calls = ['a', 'b'].map((side, k) => {
            const batch = new Batch();
            const ignore = (): void => undefined;
            for (const place of places) {
              const charges = [{ key: `${side}${place}`, algorithm, cost: 1 }];
              batch.add({ charges, resolve: ignore, reject: ignore, next: undefined });
            }
            const call = k === 0 ? batch.encodeAlike(ROW_PROGRAMS)! : batch.encodeRows(undefined, 0);
            texts[k] = call.program.text;
            const declared = k === 0 ? 1 : call.keys;
            return [call.args.slice(0, declared), call.args.slice(declared)] as const;
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
