import { openConnections } from '../http/client.js';
import { startServer } from '../http/start-server.js';
import { user } from '../floodgate.js';
import { Disturbed, inTurn, ratio, verify } from '../measure.js';
import { httpTable } from '../table.js';

const CONNECTIONS = 64;
const USERS = 10_000;

const NO_GUARD = 'no guard';
const FLOODGATE = 'Floodgate on Redis';
const THROTTLER = 'throttler on Redis';
const VARIANTS = [
  { name: NO_GUARD, variant: 'none' },
  { name: 'an empty guard', variant: 'empty' },
  { name: 'a guard that sets three headers', variant: 'headers' },
  { name: FLOODGATE, variant: 'floodgate', limited: true },
  { name: THROTTLER, variant: 'throttler', limited: true },
];

function http(platform, title) {
  return {
    ratios: [`http.${platform}.cpu`, `http.${platform}.cpuVsThrottler`],
    async run(bench) {
      const contestants = await Promise.all(VARIANTS.map((variant) => open(bench, platform, variant)));
      const samples = await inTurn(contestants, bench, load);
      const cpu = (name) => ratio(samples.get(FLOODGATE), samples.get(name), 'cpu');
      return {
        ratios: { [`http.${platform}.cpu`]: cpu(NO_GUARD), [`http.${platform}.cpuVsThrottler`]: cpu(THROTTLER) },
        tables: [httpTable(`${title}, 64 connections, 10,000 users`, samples, NO_GUARD)],
      };
    },
  };
}

export const httpExpress = http('express', 'Nest on Express');
export const httpFastify = http('fastify', 'Nest on Fastify');

/** All servers run from the start, each in a process of its own, so that its CPU is the application's alone. */
async function open(bench, platform, { name, variant, limited = false }) {
  const server = await startServer({ platform, variant, redisUrl: bench.url });
  bench.onClose(() => server.stop());
  const requests = Array.from({ length: USERS }, (_, i) =>
    Buffer.from(`GET /hello HTTP/1.1\r\nHost: 127.0.0.1\r\nX-User-Id: ${user(i)}\r\n\r\n`),
  );
  const connections = await openConnections(server.port, CONNECTIONS);
  bench.onClose(() => connections.close());
  const isRight = (head) => head.startsWith('HTTP/1.1 200') && (!limited || /\nx-ratelimit-remaining: \d/i.test(head));
  return { name, server, connections, requests, isRight };
}

async function load({ name, server, connections, requests, isRight }, ms) {
  const cpuBefore = await server.cpu();
  const start = performance.now();
  const { answered, wrong } = await connections.load({ ms, requests, isRight });
  const seconds = (performance.now() - start) / 1000;
  const cpu = (await server.cpu()) - cpuBefore;
  if (wrong?.startsWith('HTTP/1.1 503')) throw new Disturbed(`${name} missed its deadline`);
  verify(wrong === undefined, `${name} gave a wrong answer:\n${wrong}`);
  return { throughput: answered / seconds, cpu: cpu / answered };
}
