import { openLimiter, passed, redisKeyOf, user } from '../floodgate.js';
import { median, verify } from '../measure.js';

const USERS = 1_000;
/** Charges of each user, one after the other: a bucket in use, neither full nor of whole tokens. */
const CHARGES = 3;
const ENTRIES = 1_000;
const HOUR_MS = 3_600_000;

const POLICIES = {
  bucket: { algorithm: 'token-bucket', capacity: 20, refill: 10 },
  // 7 tokens in 3 seconds: the instant at which the bucket is full is no whole microsecond.
  remainder: { algorithm: 'token-bucket', capacity: 20, refill: '140/m' },
  log: { algorithm: 'sliding-window-log', limit: ENTRIES, window: HOUR_MS },
};

/**
 * The textbook's token bucket: its tokens and when they were last counted, in a hash, refilled by the time gone by.
 * KEYS[1] the bucket; ARGV: capacity, tokens per second.
 */
const TEXTBOOK_BUCKET = `
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local capacity, rate = tonumber(ARGV[1]), tonumber(ARGV[2]) / 1000000
  local state = redis.call('HMGET', KEYS[1], 'tokens', 'last_refill')
  local tokens = math.min(capacity, (state[1] or capacity) + (now - (state[2] or now)) * rate)
  redis.call('HSET', KEYS[1], 'tokens', tokens - 1, 'last_refill', now)
  redis.call('EXPIRE', KEYS[1], 3600)
  return redis.call('HGET', KEYS[1], 'tokens')`;

export const memory = {
  ratios: ['memory.tokenBucket', 'memory.log'],
  async run(bench) {
    const limiter = await openLimiter(bench, { redis: bench.url, policies: POLICIES });
    const hash = await hashBytes(bench, limiter);
    const bucket = await bucketBytes(bench, limiter, 'bucket');
    const remainder = await bucketBytes(bench, limiter, 'remainder');
    const [log, sortedSet] = await logBytes(bench, limiter);
    const line = (what, bytes, other) => [what, bytes.toFixed(1), (bytes / other).toFixed(3)];
    return {
      ratios: { 'memory.tokenBucket': exact(bucket / hash), 'memory.log': exact(log / sortedSet) },
      tables: [
        {
          title: 'Redis memory (MEMORY USAGE, same key names)',
          head: ['', 'bytes', 'ratio'],
          lines: [
            line('token bucket, per key', bucket, hash),
            line('… of a rate that leaves remainders', remainder, hash),
            line('two-field hash, per key', hash, hash),
            line(`log of ${ENTRIES} entries, per entry`, log, sortedSet),
            line('sorted set with unique members, per entry', sortedSet, sortedSet),
          ],
        },
      ],
    };
  },
};

/** Memory is counted, not timed: there are no rounds to spread. */
function exact(value) {
  return { median: value, min: value, max: value };
}

async function bucketBytes(bench, limiter, policy) {
  await bench.admin.flushall();
  for (let i = 0; i < CHARGES * USERS; i++) {
    verify(
      passed(await limiter.consume(policy, { kind: 'user', value: user(Math.floor(i / CHARGES)) })),
      'A bucket was empty',
    );
  }
  return usage(bench);
}

async function hashBytes(bench, limiter) {
  const key = await redisKeyOf(bench, limiter, 'bucket', user(0));
  const { capacity, refill } = POLICIES.bucket;
  for (let i = 0; i < CHARGES * USERS; i++) {
    const name = key.replace(user(0), user(Math.floor(i / CHARGES)));
    const tokens = Number(await bench.admin.eval(TEXTBOOK_BUCKET, 1, name, capacity, refill));
    verify(tokens >= capacity - CHARGES && tokens <= capacity - 1, `The textbook's bucket holds ${tokens} tokens`);
  }
  return usage(bench);
}

/** The median of all keys' bytes. */
async function usage({ admin }) {
  const keys = await admin.keys('*');
  verify(keys.length > 0, 'No key is left to be weighed');
  return median(await Promise.all(keys.map((key) => admin.memory('USAGE', key, 'SAMPLES', 0))));
}

async function logBytes(bench, limiter) {
  const identity = { kind: 'user', value: user(0) };
  const key = await redisKeyOf(bench, limiter, 'log', user(0));
  for (let i = 0; i < ENTRIES; i++) verify(passed(await limiter.consume('log', identity)), 'The log was full');
  const log = await bench.admin.memory('USAGE', key, 'SAMPLES', 0);
  await bench.admin.flushall();
  for (let i = 0; i < ENTRIES; i++) {
    const instant = Date.now() * 1000 + i;
    await bench.admin.zadd(key, instant, `${instant}:${i}`);
  }
  return [log / ENTRIES, (await bench.admin.memory('USAGE', key, 'SAMPLES', 0)) / ENTRIES];
}
