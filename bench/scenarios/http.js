import { loadHttp, manyRounds, openHttp } from '../http/contestant.js';
import { inTurn, ratio } from '../measure.js';
import { httpTable } from '../table.js';

const NO_GUARD = 'no guard';
const FLOODGATE = 'Floodgate on Redis';
const THROTTLER = 'throttler on Redis';

const isLimited = (head) => /\nx-ratelimit-remaining: \d/i.test(head);
const VARIANTS = [
  { name: NO_GUARD, variant: 'none' },
  { name: 'an empty guard', variant: 'empty' },
  { name: 'a guard that sets three headers', variant: 'headers' },
  { name: 'a guard that asks Redis once a turn', variant: 'asking', isRight: isLimited },
  { name: FLOODGATE, variant: 'floodgate', isRight: isLimited },
  { name: THROTTLER, variant: 'throttler', isRight: isLimited },
];

/** Guards that show what Nest itself costs: on Fastify only. */
const NEST_ALONE = ['empty', 'headers'];

/** What a call of Redis needs runs once for some 20 requests: it is optimized later than what each request needs. */
const WARM_UP_MS = 4_000;

function http(platform, title, variants) {
  return {
    ratios: [`http.${platform}.cpu`, `http.${platform}.cpuVsThrottler`],
    async run(bench) {
      const contestants = await Promise.all(variants.map((variant) => openHttp(bench, platform, variant)));
      const samples = await inTurn(contestants, manyRounds(bench, { more: 6, warmUpMs: WARM_UP_MS }), loadHttp);
      const cpu = (name) => ratio(samples.get(FLOODGATE), samples.get(name), 'cpu');
      return {
        ratios: { [`http.${platform}.cpu`]: cpu(NO_GUARD), [`http.${platform}.cpuVsThrottler`]: cpu(THROTTLER) },
        tables: [httpTable(`${title}, 64 connections, 10,000 users`, samples, NO_GUARD)],
      };
    },
  };
}

export const httpExpress = http(
  'express',
  'Nest on Express',
  VARIANTS.filter(({ variant }) => !NEST_ALONE.includes(variant)),
);
export const httpFastify = http('fastify', 'Nest on Fastify', VARIANTS);
