import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { rateLimiterFlexible, rateLimiterMemory } from '../../contestants.js';
import { identities, late, openLimiter, passed, redisKeyOf, user } from '../../floodgate.js';
import { loadHttp, manyRounds, openHttp } from '../../http/contestant.js';
import { Disturbed, inTurn, ratio } from '../../measure.js';
import { decisionsTable, HTTP_ON_REDIS, httpTable, IN_PROCESS } from '../../table.js';

export const KEYS = 10_000;
export const BUCKET = { algorithm: 'token-bucket', capacity: 1_000_000, refill: 10 };

const CHILD = fileURLToPath(new URL('child.js', import.meta.url));
/** Few enough that a user's state says whether refunds and leases came back. */
export const HTTP_USERS = 1_000;
const HTTP_WARM_UP_MS = 2_000;

/**
 * Where the decisions of a feature are made.
 *
 * @typedef {object} Place
 * @property {boolean} isRedis
 * @property {number} inFlight
 * @property {Record<string, string>} keys by the ratio's last name: the figure of a sample
 * @property {string} what
 * @property {object[]} [columns] of its table
 */
export const PLACES = {
  redis: {
    isRedis: true,
    inFlight: 512,
    keys: { node: 'node', redis: 'redis' },
    what: 'on Redis, 512 in flight',
  },
  memory: { isRedis: false, inFlight: 1, keys: { memory: 'node' }, what: 'in the process', columns: IN_PROCESS },
};
const BY_CODE = Object.values(PLACES).flatMap(({ keys }) => Object.keys(keys));
/** The figures of a scenario over HTTP, in the form of a place's `keys`. */
const HTTP = { http: 'cpu', httpRedis: 'redis' };

/**
 * A feature's scenario.
 *
 * @param {object} feature
 * @param {string} feature.title
 * @param {string} [feature.url] of the module whose `contestants(bench, place)` are measured on Redis and in the process
 * @param {string} [feature.base] the contestant without the feature
 * @param {Record<string, string>} [feature.prices] by name: the contestant whose Node CPU and Redis CPU on Redis, and Node CPU in the
 *   process, are the ratios `features.<name>.node`, `.redis` and `.memory`
 * @param {string[]} [feature.figures] those of the three that say something
 * @param {string} [feature.peer] the peer's contestant without the feature
 * @param {object} [feature.http] `variants` of the application, `base`, `prices` for `.http` (application CPU) and `.httpRedis`, and
 *   `peer`
 * @param {(bench: object) => Promise<unknown>} [feature.prove] before the loads over HTTP
 */
export function featureScenario({ title, url, base, prices = {}, figures = BY_CODE, peer, http, prove }) {
  const byCode = figures.filter(() => url !== undefined);
  return {
    ratios: [...namesOf(prices, byCode), ...namesOf(http?.prices ?? {}, Object.keys(HTTP))],
    async run(bench) {
      const ratios = {};
      const tables = [];
      const add = (samples, { reference, contestants, figure, key }) => {
        for (const [name, contestant] of Object.entries(contestants)) {
          ratios[nameOf(name, figure)] = ratio(samples.get(contestant), samples.get(reference), key);
        }
      };
      for (const [place, { keys, what, columns }] of Object.entries(PLACES)) {
        const here = Object.entries(keys).filter(([figure]) => byCode.includes(figure));
        if (here.length === 0) continue;
        const samples = await measureApart(url, place, bench);
        for (const [figure, key] of here) add(samples, { reference: base, contestants: prices, figure, key });
        tables.push(decisionsTable(`${title}: ${what}`, samples, base, columns));
        if (peer) tables.push(decisionsTable(`… the peer to itself`, ofPeer(samples, peer), peer, columns));
      }
      if (http !== undefined) {
        await prove?.(bench);
        const samples = await measureHttp(bench, http.variants);
        for (const [figure, key] of Object.entries(HTTP)) {
          add(samples, { reference: http.base, contestants: http.prices, figure, key });
        }
        const where = 'Nest on Fastify and Redis, 64 connections';
        tables.push(httpTable(`${title}: ${where}`, samples, http.base, HTTP_ON_REDIS));
        if (http.peer) {
          tables.push(httpTable(`… the peer to itself`, ofPeer(samples, http.peer), http.peer, HTTP_ON_REDIS));
        }
      }
      return { ratios, tables };
    },
  };
}

const nameOf = (feature, figure) => `features.${feature}.${figure}`;

function namesOf(prices, figures) {
  return Object.keys(prices).flatMap((name) => figures.map((figure) => nameOf(name, figure)));
}

/** The peer's contestants: their names begin as that of the one without the feature. */
function ofPeer(samples, peer) {
  return new Map([...samples].filter(([name]) => name.startsWith(peer)));
}

/**
 * The rounds of a feature's contestants in processes of their own: V8 compiles shared code for all that a process has run, and what
 * other scenarios have run would slow the plain policy down most. Of equal contestants the one that a process has loaded first takes up to
 * a fifth less CPU, so a second process loads them in the reverse order, and a round is the mean of both.
 */
async function measureApart(url, place, bench) {
  const given = await measureInChild(url, place, bench, false);
  const reversed = await measureInChild(url, place, bench, true);
  const pairs = [...given].map(([name, samples]) => {
    return [name, samples.map((sample, round) => meanOf(sample, reversed.get(name)[round]))];
  });
  return new Map(pairs);
}

function meanOf(one, other) {
  return Object.fromEntries(Object.keys(one).map((figure) => [figure, (one[figure] + other[figure]) / 2]));
}

async function measureInChild(url, place, { url: redisUrl, rounds, ms, warmUpMs, smoke, onClose }, reversed) {
  const child = fork(CHILD);
  onClose(() => child.kill('SIGKILL'));
  child.send({ url, place, reversed, bench: { url: redisUrl, rounds, ms, warmUpMs, smoke } });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The process of ${url} ended with ${code}`);
  });
  ended.catch(() => {}); // after its answer, its end is no error
  const [{ samples, error, isLate }] = await Promise.race([once(child, 'message'), ended]);
  if (error !== undefined) throw isLate ? new Disturbed(error) : new Error(error);
  return new Map(samples);
}

async function measureHttp(bench, variants) {
  const contestants = await Promise.all(
    variants.map((variant) => openHttp(bench, 'fastify', { users: HTTP_USERS, ...variant })),
  );
  return inTurn(contestants, manyRounds(bench, { more: 4, warmUpMs: HTTP_WARM_UP_MS }), loadHttp);
}

let prefixes = 0;

/** Options of a limiter of its own for one contestant: its states and its kept charges are no part of another's load. */
export function ownOptions(bench, place, policies) {
  // Prefixes of one length: keys cost what they are long.
  const keyPrefix = `b${String(prefixes++).padStart(2, '0')}`;
  return { ...(place.isRedis && { redis: bench.url }), policies, keyPrefix, deadline: '1s' };
}

export function openOwn(bench, place, policies) {
  return openLimiter(bench, ownOptions(bench, place, policies));
}

/**
 * 10,000 users, each asked for in turn.
 *
 * @param {(user: object) => Promise<unknown>} ask
 */
export function askingUsers(name, ask, more = {}) {
  const users = identities(KEYS);
  return { name, ask: (i) => ask(users[i % KEYS]), right: passed, late, ...more };
}

/** rate-limiter-flexible in that place, with keys as long as Floodgate's. */
export async function openPeer(bench, place, options = {}) {
  if (!place.isRedis) return rateLimiterMemory({ keys: KEYS, ...options });
  keyLength ??= await measureKey(bench, place);
  return rateLimiterFlexible(bench, { keys: KEYS, length: keyLength, ...options });
}

let keyLength;

/** Empties Redis. */
async function measureKey(bench, place) {
  const closing = [];
  const limiter = await openOwn({ ...bench, onClose: (close) => closing.push(close) }, place, { bucket: BUCKET });
  const { length } = await redisKeyOf(bench, limiter, 'bucket', user(0));
  for (const close of closing) await close();
  return length;
}
