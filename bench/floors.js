/** What each ratio says, and how good it has to be: `atLeast` or `atMost`. In the order of the table. */
export const FLOORS = {
  'distinct512.throughput': {
    what: '10,000 keys, 512 in flight: decisions/s, to rate-limiter-flexible',
    atLeast: 2.5,
  },
  'distinct512.nodeCpu': { what: '… Node CPU per decision, to rate-limiter-flexible', atMost: 0.3 },
  'distinct512.redisCpu': { what: '… Redis CPU per decision, to rate-limiter-flexible', atMost: 0.5 },
  'distinct64.throughput': { what: '10,000 keys, 64 in flight: decisions/s, to rate-limiter-flexible', atLeast: 1.8 },
  'single.latency': { what: '1 in flight: median latency, to rate-limiter-flexible', atMost: 1.05 },
  'hot512.throughput': { what: 'one key, 512 in flight: decisions/s, to rate-limiter-flexible', atLeast: 8 },
  'refused.throughput': {
    what: 'a client far over its limit: decisions/s, to inMemoryBlockOnConsumed',
    atLeast: 1,
  },
  'refused.commands': { what: '… Redis commands per refused decision: one question a second', atMost: 0.00001 },
  'algorithms.redisCpu': { what: 'Redis CPU per decision: dearest algorithm / token bucket', atMost: 1.5 },
  'policies2.redisCpu': { what: 'Redis CPU per request: two policies / one', atMost: 1.6 },
  'log.growth': { what: 'Redis CPU per decision of a full log: limit 100,000 / 100', atMost: 1.3 },
  'keys.growth': { what: 'Redis CPU per decision: 1,000,000 live keys / 1,000', atMost: 1.3 },
  'memory.tokenBucket': { what: 'Redis memory per key: token bucket / the two-field hash', atMost: 0.65 },
  'memory.log': { what: 'Redis memory per entry, 1,000 entries: log / sorted set', atMost: 0.12 },
  'http.express.cpu': { what: 'Express, app CPU per request: guard on Redis / no guard', atMost: 1.2 },
  'http.express.cpuVsThrottler': { what: '… guard on Redis / throttler on Redis', atMost: 0.85 },
  'http.fastify.cpu': { what: 'Fastify, app CPU per request: guard on Redis / no guard', atMost: 1.4 },
  'http.fastify.cpuVsThrottler': { what: '… guard on Redis / throttler on Redis', atMost: 0.65 },
  'memoryStore.throughput': {
    what: 'in the process: decisions/s, to the faster peer, distinct or hot keys',
    atLeast: 1,
  },
  'metrics.redis': { what: 'Node CPU per decision on Redis: with metrics / without', atMost: 1.1 },
  'metrics.memory': { what: 'Node CPU per decision in the process: with metrics / without', atMost: 1.5 },
};
