import { connect, PEER_WINDOW_S, STATE } from '../contestants.js';
import { late, openLimiter, passed, redisKeyOf, user } from '../floodgate.js';
import { measure, ratio, verify } from '../measure.js';
import { decisionsTable } from '../table.js';
import { RedisStore } from 'nestjs-floodgate';

const LOGS = 64;
const WINDOW_MS = 3_600_000;
/** Logs filled at a time: few enough for the deadline, a cost of 1,000 each. */
const TOGETHER = 8;

export const logGrowth = {
  ratios: ['log.growth'],
  async run(bench) {
    const contestants = [await fullLogs(bench, 100), await fullLogs(bench, 100_000)];
    const samples = await measure(contestants, { inFlight: LOGS, bench });
    const [small, large] = contestants.map(({ name }) => samples.get(name));
    return {
      ratios: { 'log.growth': ratio(large, small, 'redis') },
      tables: [decisionsTable('Full logs: 64 users, 64 in flight', samples, contestants[0].name)],
    };
  },
};

/**
 * Users whose logs are full and stay so: the clock (a public option of `RedisStore`) goes on only as they are asked, just so
 * fast that one instant expires for each that is admitted, and 5 % faster, so that all pass.
 */
async function fullLogs(bench, limit) {
  const name = `log${limit}`;
  const start = Date.now() * 1000;
  const step = (WINDOW_MS * 1000 * 1.05) / limit;
  let steps = 0;
  const store = new RedisStore(await connect(bench), { clock: () => start + Math.floor(steps * step) });
  const policy = { algorithm: 'sliding-window-log', limit, window: WINDOW_MS };
  const limiter = await openLimiter(bench, { store, policies: { [name]: policy } });
  const users = Array.from({ length: LOGS }, (_, i) => ({ kind: 'user', value: user(i) }));

  // By a hundredth of the limit at a time. One whose answer came late may have been made or not: the 5 % make up for it.
  const cost = limit / 100;
  const fill = (identity) => limiter.consume(name, identity, { cost }).then(passed, late);
  for (let filled = 0; filled < limit; filled += cost) {
    for (let first = 0; first < LOGS; first += TOGETHER) {
      const filling = await Promise.all(users.slice(first, first + TOGETHER).map(fill));
      verify(filling.every(Boolean), 'A log was full before its time');
    }
    steps += cost;
  }
  let asked = 0;
  return {
    name: `limit ${limit.toLocaleString('en')}`,
    ask: () => {
      const i = asked++;
      if (i % LOGS === 0) steps++;
      return limiter.consume(name, users[i % LOGS]);
    },
    right: passed,
    late,
    after: async () => {
      const [{ remaining }] = (await limiter.peek(name, users[0])).policies;
      verify(remaining <= limit / 10, `A log of ${limit} that should be full had room for ${remaining}`);
    },
  };
}

const FEW = 1_000;
const MANY = 1_000_000;
/** In a smoke run: writing a million keys takes most of the scenario's time. */
const MANY_IN_SMOKE = 10_000;
/** Spreads the questions over all keys: a neighbour's cache line helps nobody. */
const STRIDE = 611_953;

/** A token takes an hour to come back: a key once charged outlives the run. */
const SLOW = { algorithm: 'token-bucket', capacity: 100_000, refill: '1/h' };

export const keysGrowth = {
  ratios: ['keys.growth'],
  async run(bench) {
    const limiter = await openLimiter(bench, { redis: bench.url, policies: { slow: SLOW } });
    const client = await connect(bench, { enableAutoPipelining: true });
    const contestants = [FEW, bench.smoke ? MANY_IN_SMOKE : MANY].flatMap((keys) =>
      liveKeys(bench, limiter, client, keys),
    );
    const samples = await measure(contestants, { inFlight: 512, bench });
    const [few, , many] = contestants.map(({ name }) => samples.get(name));
    return {
      ratios: { 'keys.growth': ratio(many, few, 'redis') },
      tables: [decisionsTable('Live keys: token bucket, 512 in flight', samples, contestants[0].name)],
    };
  },
};

/** Floodgate, and after it a GET and a SET of the same keys: what finding a key among so many costs Redis in any case. */
function liveKeys(bench, limiter, client, keys) {
  const userAt = (i) => user((i * STRIDE) % keys);
  const after = async () => verify((await bench.admin.dbsize()) === keys, `${keys} keys should have been alive`);
  let key;
  return [
    {
      name: `${keys.toLocaleString('en')} keys`,
      before: async () => {
        key = await populate(bench, limiter, keys);
      },
      ask: (i) => limiter.consume('slow', { kind: 'user', value: userAt(i) }),
      right: passed,
      late,
      after,
    },
    {
      name: `${keys.toLocaleString('en')} keys, GET + SET`,
      ask: (i) => {
        const name = key.replace(user(0), userAt(i));
        return Promise.all([client.get(name), client.set(name, STATE, 'PX', PEER_WINDOW_S * 1000)]);
      },
      right: ([found, set]) => found !== null && set === 'OK',
      after,
    },
  ];
}

/** Charges one user in the library's way and copies the state to all the others, which is much faster. */
async function populate(bench, limiter, keys) {
  const name = user(0);
  const key = await redisKeyOf(bench, limiter, 'slow', name);
  await limiter.consume('slow', { kind: 'user', value: name });
  const copy = `for _, name in ipairs(ARGV) do redis.call('COPY', KEYS[1], (string.gsub(KEYS[1], '${name.replace('-', '%-')}', name))) end`;
  for (let first = 1; first < keys; first += 1000) {
    const others = Array.from({ length: Math.min(1000, keys - first) }, (_, i) => user(first + i));
    await bench.admin.eval(copy, 1, key, ...others);
  }
  return key;
}
