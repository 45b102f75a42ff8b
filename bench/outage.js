// What callers get while Redis is away, from Floodgate and its peers: npm run bench:outage [-- --json --smoke]. See README.md.
import { setTimeout as delay } from 'node:timers/promises';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { rateLimit } from 'express-rate-limit';
import { Redis } from 'ioredis';
import { RedisStore } from 'rate-limit-redis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { conclude, readCommonOptions } from './command.js';
import { openLimiter } from './floodgate.js';
import { verify } from './measure.js';
import { startProxy } from './proxy.js';
import { startRedis } from './redis.js';
import { render } from './table.js';

const given = readCommonOptions('npm run bench:outage');

/** How long a caller is watched for an answer: whatever waits longer has hung. */
const PATIENCE_MS = given.smoke ? 500 : 3_000;
/** Requests in a row while Redis is away. */
const REQUESTS = given.smoke ? 2 : 20;
const RECOVERY_LIMIT_MS = 10_000;
/** What is sent again has arrived by then. */
const RESEND_MS = 1_000;
const LIMIT = 1_000_000;
const WINDOW_S = 3600;

const OURS = 'Floodgate';

/** Each as its README or wiki has it, on the client that it has there; `charged` is asked of a Redis that answers. */
const CONTESTANTS = {
  [OURS]: async (bench) => {
    // The default, 'local': every request gets a decision. What Redis did not decide is told apart.
    const limiter = await openLimiter(bench, { redis: bench.url, onStoreFailure: 'local' });
    const policy = { name: 'rides', algorithm: 'fixed-window', limit: LIMIT, window: '300d' };
    const ada = { kind: 'user', value: 'ada' };
    return {
      ask: () => limiter.consume(policy, ada),
      decided: ({ decidedBy }) => decidedBy === 'store',
      charged: async () => {
        let told;
        do told = await limiter.peek(policy, ada);
        while (told.decidedBy !== 'store');
        return LIMIT - told.policies[0].remaining;
      },
    };
  },
  'rate-limiter-flexible': (bench) => flexible(bench, { enableOfflineQueue: false }),
  'the same, on ioredis as it comes': (bench) => flexible(bench, {}),
  '@nest-lab/throttler-storage-redis': async (bench) => {
    const client = connect(bench, {});
    const storage = new ThrottlerStorageRedisService(client);
    const ttl = WINDOW_S * 1000;
    return {
      ask: () => storage.increment('ada', ttl, LIMIT, ttl, 'default'),
      decided: () => true,
      charged: async () => Number(await bench.admin.get('{ada:default}:hits')),
    };
  },
  'rate-limit-redis': async (bench) => {
    const client = connect(bench, {});
    const store = new RedisStore({ sendCommand: (command, ...args) => client.call(command, ...args) });
    rateLimit({ windowMs: WINDOW_S * 1000, limit: LIMIT, store });
    return {
      ask: () => store.increment('ada'),
      decided: () => true,
      charged: async () => Number(await bench.admin.get('rl:ada')),
    };
  },
};

function flexible(bench, options) {
  const limiter = new RateLimiterRedis({
    storeClient: connect(bench, options),
    points: LIMIT,
    duration: WINDOW_S,
    keyPrefix: 'rlflx',
  });
  return {
    ask: () => limiter.consume('ada'),
    decided: () => true,
    charged: async () => Number(await bench.admin.get('rlflx:ada')),
  };
}

function connect(bench, options) {
  const client = new Redis(bench.url, options);
  client.on('error', () => {}); // what it costs callers is what is measured
  bench.onClose(() => client.disconnect());
  return client;
}

/** Milliseconds until an answer or an error, and which; `hung` after `PATIENCE_MS`. */
async function timed(ask) {
  const since = performance.now();
  const answer = await Promise.race([
    ask().then(
      (value) => ({ value }),
      (error) => ({ error }),
    ),
    delay(PATIENCE_MS, { hung: true }, { ref: false }),
  ]);
  return { ...answer, ms: performance.now() - since };
}

async function untilDecided({ ask, decided }) {
  const since = performance.now();
  while (performance.now() - since < RECOVERY_LIMIT_MS) {
    const { value, error, hung } = await timed(ask);
    if (!hung && error === undefined && decided(value)) return performance.now() - since;
    await delay(5);
  }
  return Infinity;
}

/** One after the other, as one client would: the first pays for finding out, the others for what was learned. */
async function away(contestant, begin, end) {
  await untilDecided(contestant);
  await begin();
  const answers = [];
  for (let i = 0; i < REQUESTS && !answers.at(-1)?.hung; i++) answers.push(await timed(contestant.ask));
  await end();
  return { answers, recoveryMs: await untilDecided(contestant) };
}

/** Redis runs what it is sent, and the connection is lost before it can say so: how often one request was charged. */
function answerLost(open) {
  let proxy;
  const throughProxy = async ({ url }, closing) => {
    proxy = await startProxy(Number(new URL(url).port));
    closing.push(proxy.close);
    return proxy.url;
  };
  return on(open, throughProxy, async (contestant) => {
    await untilDecided(contestant);
    const before = await contestant.charged();
    proxy.cutNext();
    await timed(contestant.ask);
    await delay(RESEND_MS);
    return (await contestant.charged()) - before;
  });
}

const ms = (value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
const recovery = (value) => (value === Infinity ? `not within ${RECOVERY_LIMIT_MS / 1000} s` : ms(value));
const answer = (told) => {
  if (told === undefined) return '-';
  if (told.hung) return `none in ${PATIENCE_MS / 1000} s`;
  return `${ms(told.ms)}${told.error === undefined ? '' : ', an error'}`;
};

/** Opens a contestant on a Redis of its own, and closes both. */
async function on(open, urlOf, measure) {
  const redis = await startRedis();
  const closing = [];
  try {
    const url = await urlOf(redis, closing);
    return await measure(await open({ url, admin: redis.admin, onClose: (close) => closing.unshift(close) }), redis);
  } finally {
    for (const close of closing) await close();
    await redis.stop();
  }
}

const directly = ({ url }) => url;

/** One contestant through everything that happens to its Redis. */
async function measured(name, open) {
  const hung = await on(open, directly, (one, redis) => away(one, redis.hang, redis.goOn));
  const dead = await on(open, directly, (one, redis) => away(one, redis.crash, redis.restart));
  const charged = await answerLost(open);
  if (name === OURS) verifyPromises([hung, dead], charged);
  const cells = ({ answers, recoveryMs }) => [answer(answers[0]), answer(answers[REQUESTS - 1]), recovery(recoveryMs)];
  const figure = ({ answers: [first], recoveryMs }) => ({ firstMs: first.hung ? null : first.ms, recoveryMs });
  return {
    line: [name, ...cells(hung), ...cells(dead), String(charged)],
    figures: { hangs: figure(hung), dies: figure(dead), answerLost: { charged } },
  };
}

/** What Floodgate promises, however slow this machine is: every request is answered, it recovers, and no charge is made twice. */
function verifyPromises(outages, charged) {
  for (const { answers, recoveryMs } of outages) {
    const bad = answers.find(({ hung, error }) => hung || error !== undefined);
    verify(bad === undefined, `a request got ${bad && answer(bad)}`);
    verify(recoveryMs !== Infinity, 'the store did not decide again');
  }
  verify(charged <= 1, `a request whose answer was lost was charged ${charged} times`);
}

const lines = [];
const figures = {};
const passed = [];
const failed = [];
for (const [name, open] of Object.entries(CONTESTANTS)) {
  process.stderr.write(`${name} ...\n`);
  try {
    const result = await measured(name, open);
    lines.push(result.line);
    figures[name] = result.figures;
    passed.push(name);
  } catch (error) {
    failed.push({ name, error });
  }
}
const head = [
  '',
  'hangs: 1st',
  `${REQUESTS}th`,
  'decides again',
  'dies: 1st',
  `${REQUESTS}th`,
  'again',
  'answer lost: charged',
];
if (!given.smoke) {
  process.stdout.write(`${render({ title: 'While Redis is away', head, lines })}\n`);
  if (given.json) process.stdout.write(`${JSON.stringify(figures)}\n`);
}
conclude({ passed, failed }, given);
