import { user } from '../floodgate.js';
import { Disturbed, verify } from '../measure.js';
import { redisCpu } from '../redis.js';
import { openConnections } from './client.js';
import { startServer } from './start-server.js';

const CONNECTIONS = 64;
/** How long the last requests of a load may take to be settled. */
const SETTLED_WITHIN_MS = 1_000;

let prefixes = 0;

/** Of one length: no application meets another's states, and all keys are equally long. */
function nextPrefix() {
  return `h${String(prefixes++ % 100).padStart(2, '0')}`;
}

/**
 * An application in a process of its own, so that its CPU is the application's alone.
 *
 * @param {object} bench
 * @param {'express' | 'fastify' | 'hono'} platform
 * @param {object} options
 * @param {string} options.name
 * @param {string} [options.program] server.js (default), or without-nest.js
 * @param {string} options.variant of the program
 * @param {number} [options.users] who ask in turn
 * @param {(head: string) => boolean} [options.isRight] whether the head of a response, which is a 200, is the right one
 * @param {string} [options.limit] what a variant lets pass, where it is to reject
 * @param {(stats: object) => number} [options.counted] of the server's counts, the one that each request has to raise by one
 */
export async function openHttp(bench, platform, options) {
  const { name, program, variant, users = 10_000, isRight = () => true, counted, limit } = options;
  const server = await startServer({
    program,
    platform,
    variant,
    redisUrl: bench.url,
    keyPrefix: nextPrefix(),
    limit,
  });
  bench.onClose(() => server.stop());
  const requests = Array.from({ length: users }, (_, i) =>
    Buffer.from(`GET /hello HTTP/1.1\r\nHost: 127.0.0.1\r\nX-User-Id: ${user(i)}\r\n\r\n`),
  );
  const connections = await openConnections(server.port, CONNECTIONS);
  bench.onClose(() => connections.close());
  return {
    name,
    server,
    connections,
    requests,
    counted,
    admin: bench.admin,
    isRight: (head) => head.startsWith('HTTP/1.1 200') && isRight(head),
  };
}

/** Many short rounds: contestants of one round are close in time, and a disturbance takes few of the rounds. */
export function manyRounds(bench, { more, warmUpMs }) {
  if (bench.smoke) return bench;
  return { ...bench, rounds: bench.rounds * more, ms: bench.ms / 5, warmUpMs };
}

/** The status of one request, of a user who asks in no load. */
export async function askHttp({ port }) {
  const response = await fetch(`http://127.0.0.1:${port}/hello`, { headers: { 'X-User-Id': 'somebody-else' } });
  await response.arrayBuffer();
  return response.status;
}

/** One load of such an application. */
export async function loadHttp({ name, server, connections, requests, isRight, counted, admin }, ms) {
  const countBefore = counted && counted(await server.stats());
  const redisBefore = await redisCpu(admin);
  const cpuBefore = await server.cpu();
  const start = performance.now();
  const { answered, wrong } = await connections.load({ ms, requests, isRight });
  const seconds = (performance.now() - start) / 1000;
  const cpu = (await server.cpu()) - cpuBefore;
  const redis = (await redisCpu(admin)) - redisBefore;
  if (wrong?.startsWith('HTTP/1.1 503')) throw new Disturbed(`${name} missed its deadline`);
  verify(wrong === undefined, `${name} gave a wrong answer:\n${wrong}`);
  if (counted) await verifyCount(name, answered, async () => counted(await server.stats()) - countBefore);
  return { throughput: answered / seconds, cpu: cpu / answered, redis: redis / answered };
}

/** What follows a response may come a moment later. */
async function verifyCount(name, answered, read) {
  const end = performance.now() + SETTLED_WITHIN_MS;
  let count = await read();
  while (count !== answered && performance.now() < end) count = await read();
  verify(count === answered, `${name} counted ${count} of ${answered} requests`);
}
