import { openConnections } from '../http/client.js';
import { askHttp, loadHttp, manyRounds, openHttp } from '../http/contestant.js';
import { inTurn, ratio, verify } from '../measure.js';
import { HTTP_ON_REDIS, httpTable } from '../table.js';

const PROGRAM = 'without-nest.js';
const NO_LIMIT = 'no limit';
const FLOODGATE = 'Floodgate on Redis';

/** A call of Redis's script is optimized late, as in http.js. */
const WARM_UP_MS = 4_000;
/** The limit of the proof, which rejects what comes after it. */
const PROVED_LIMIT = 3;
const ASKED_AT_MOST = 50;

const isLimited = (head) => /\n(?:x-)?ratelimit-remaining: \d/i.test(head);

/** Floodgate's adapter of a framework without Nest, beside the framework's usual limiter, `peer`. */
function servers(platform, title, peer) {
  const limited = [
    { name: FLOODGATE, program: PROGRAM, variant: 'floodgate', isRight: isLimited },
    { name: peer, program: PROGRAM, variant: 'peer', isRight: isLimited },
  ];
  const variants = [{ name: NO_LIMIT, program: PROGRAM, variant: 'none' }, ...limited];
  return {
    ratios: ['cpu', 'cpuVsPeer', 'quiet'].map((figure) => `servers.${platform}.${figure}`),
    async run(bench) {
      await Promise.all(limited.map((variant) => proveLimit(bench, platform, variant)));
      const contestants = await Promise.all(variants.map((variant) => openHttp(bench, platform, variant)));
      const rounds = manyRounds(bench, { more: 6, warmUpMs: WARM_UP_MS });
      const limitedOnes = contestants.filter(({ name }) => name !== NO_LIMIT);
      const busy = await inTurn(contestants, rounds, loadHttp);
      const alone = await Promise.all(limitedOnes.map((contestant) => withOneConnection(bench, contestant)));
      const quiet = await inTurn(alone, { ...rounds, warmUpMs: rounds.ms }, loadHttp);
      const cpu = (samples, name) => ratio(samples.get(FLOODGATE), samples.get(name), 'cpu');
      return {
        ratios: {
          [`servers.${platform}.cpu`]: cpu(busy, NO_LIMIT),
          [`servers.${platform}.cpuVsPeer`]: cpu(busy, peer),
          [`servers.${platform}.quiet`]: cpu(quiet, peer),
        },
        tables: [
          httpTable(`${title}, 64 connections, 10,000 users`, busy, peer, HTTP_ON_REDIS),
          httpTable(`${title}, one connection, 10,000 users`, quiet, peer, HTTP_ON_REDIS),
        ],
      };
    },
  };
}

/** The same server, which has one request at a time. */
async function withOneConnection(bench, contestant) {
  const connections = await openConnections(contestant.server.port, 1);
  bench.onClose(() => connections.close());
  return { ...contestant, connections };
}

/** A process of its own with a small limit: as many requests pass, and the next one is rejected. */
async function proveLimit(bench, platform, { name, ...variant }) {
  const { server } = await openHttp(bench, platform, { ...variant, name, limit: String(PROVED_LIMIT) });
  const statuses = [];
  while (statuses.at(-1) !== 429 && statuses.length < ASKED_AT_MOST) statuses.push(await askHttp(server));
  await server.stop();
  const count = (status) => statuses.filter((one) => one === status).length;
  // On a busy machine a request that missed the deadline (503) may have been counted, and a window may end between two requests.
  const [passed, late] = [count(200), count(503)];
  verify(
    statuses.at(-1) === 429 &&
      passed + late + 1 === statuses.length &&
      passed + late >= PROVED_LIMIT &&
      passed <= 2 * PROVED_LIMIT,
    `${name} has no limit of ${PROVED_LIMIT}: ${statuses.join()}`,
  );
}

export const serversExpress = servers('express', 'Express', 'express-rate-limit');
export const serversFastify = servers('fastify', 'Fastify', '@fastify/rate-limit');
export const serversHono = servers('hono', "Hono on Node's server", 'hono-rate-limiter');
