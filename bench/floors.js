const FIGURES = {
  node: 'Node CPU on Redis',
  redis: 'Redis CPU',
  memory: 'Node CPU in the process',
  http: 'on Fastify, app CPU a request',
  httpRedis: 'on Fastify, Redis CPU a request',
};

/** The figures of a feature, each with the floor that it has to stay under; undefined: a price. */
function feature(name, what, floors) {
  return Object.fromEntries(
    Object.entries(floors).map(([figure, atMost]) => [
      `features.${name}.${figure}`,
      { what: `${what}: ${FIGURES[figure]}`, ...(atMost !== undefined && { atMost }) },
    ]),
  );
}

/** The figures of an adapter, and its floor against the framework's usual limiter, `peer`. */
function server(platform, title, peer, atMost) {
  const against = `Floodgate / ${peer}, both on Redis`;
  return {
    [`servers.${platform}.cpu`]: { what: `${title} without Nest, CPU per request: Floodgate on Redis / no limit` },
    [`servers.${platform}.cpuVsPeer`]: { what: `${title} without Nest, CPU per request: ${against}`, atMost },
    [`servers.${platform}.quiet`]: {
      what: `${title} without Nest, one request at a time, CPU per request: ${against}`,
    },
  };
}

const PRICE = undefined;
const PEER = 'to rate-limiter-flexible';

/** What each ratio says, and how good it has to be: `atLeast` or `atMost`; a price has neither. In the order of the tables. */
export const FLOORS = {
  'distinct512.throughput': { what: `10,000 keys, 512 in flight: decisions/s, ${PEER}`, atLeast: 2.5 },
  'distinct512.nodeCpu': { what: `10,000 keys, 512 in flight: Node CPU per decision, ${PEER}`, atMost: 0.3 },
  'distinct512.redisCpu': { what: `10,000 keys, 512 in flight: Redis CPU per decision, ${PEER}`, atMost: 0.55 },
  'distinct64.throughput': { what: `10,000 keys, 64 in flight: decisions/s, ${PEER}`, atLeast: 2 },
  'single.latency': { what: `1 in flight: median latency, ${PEER}`, atMost: 1.08 },
  'single.redisCpu': { what: `each request in its own call: Redis CPU per decision, ${PEER}`, atMost: 1.25 },
  'single.nodeCpu': { what: `each request in its own call: Node CPU per decision, ${PEER}` },
  'hot512.throughput': { what: `one key, 512 in flight: decisions/s, ${PEER}`, atLeast: 12 },
  'clients.nodeCpu512': {
    what: '10,000 keys, 512 in flight: Node CPU per decision, on node-redis / on ioredis',
    atMost: 1.1,
  },
  'clients.nodeCpu1': { what: '1 in flight: Node CPU per decision, on node-redis / on ioredis' },
  'sizing.rows1': { what: `8 pods, one request a call: Redis CPU per decision, ${PEER}` },
  'sizing.rows32': { what: `8 pods, 32 requests a call: Redis CPU per decision, ${PEER}` },
  'sizing.quiet': { what: `one pod, one request at a time: Redis CPU per decision, ${PEER}` },
  'sizing.spread': { what: '8 pods: Redis CPU per decision, one request a call / 32' },
  'openLoop.250': { what: 'a pod with 100 us of work a request, 250 requests/s: requests a call' },
  'openLoop.1000': { what: 'a pod with 100 us of work a request, 1,000 requests/s: requests a call' },
  'openLoop.4000': { what: 'a pod with 100 us of work a request, 4,000 requests/s: requests a call' },
  'openLoop.6000': { what: 'a pod with 100 us of work a request, 6,000 requests/s: requests a call' },
  'prefetch.redisCpu250': {
    what: 'one hot key, 250 requests/s of a pod: Redis CPU per decision, with prefetch / without',
  },
  'prefetch.redisCpu1000': {
    what: 'one hot key, 1,000 requests/s of a pod: Redis CPU per decision, with prefetch / without',
  },
  'refused.throughput': {
    what: 'a client far over its limit: decisions/s, to inMemoryBlockOnConsumed',
    atLeast: 3,
  },
  'refused.commands': {
    what: 'a client far over its limit: Redis commands per decision, one question a second',
    atMost: 0.00001,
  },
  'algorithms.log.redisCpu': { what: 'Redis CPU per decision: sliding window log / token bucket', atMost: 1.5 },
  'algorithms.counter.redisCpu': {
    what: 'Redis CPU per decision: sliding window counter / token bucket',
    atMost: 1.35,
  },
  'log.growth': { what: 'Redis CPU per decision of a full log: limit 100,000 / 100', atMost: 1.3 },
  'keys.growth': { what: 'Redis CPU per decision: 1,000,000 live keys / 1,000', atMost: 1.3 },
  'memory.tokenBucket': { what: 'Redis memory per key: token bucket / the two-field hash', atMost: 0.65 },
  'memory.log': { what: 'Redis memory per entry, 1,000 entries: log / sorted set', atMost: 0.12 },
  'http.express.cpu': { what: 'Express, app CPU per request: guard on Redis / no guard', atMost: 1.05 },
  'http.express.cpuVsThrottler': {
    what: 'Express, app CPU per request: guard on Redis / throttler on Redis',
    atMost: 0.85,
  },
  'http.fastify.cpu': { what: 'Fastify, app CPU per request: guard on Redis / no guard', atMost: 1.24 },
  'http.fastify.cpuVsThrottler': {
    what: 'Fastify, app CPU per request: guard on Redis / throttler on Redis',
    atMost: 0.6,
  },
  ...server('express', 'Express', 'express-rate-limit', 1),
  ...server('fastify', 'Fastify', '@fastify/rate-limit', 0.9),
  ...server('hono', 'Hono', 'hono-rate-limiter', 1),
  'memoryStore.throughput': {
    what: 'in the process: decisions/s, to the faster peer, distinct or hot keys',
    atLeast: 0.95,
  },
  'memoryStore.sync': {
    what: 'in the process: decisions/s of consumeSync, to the faster peer, distinct or hot keys',
    atLeast: 1.5,
  },
  ...feature('settle', 'reserve 3 and settle 1 / consume', { node: 3, redis: 2.2, memory: 3.5 }),
  ...feature('schedule', 'schedule with room / consume', { node: 1.2, redis: 1.05, memory: 1.2 }),
  ...feature('countIf', 'a countIf that refunds each request / none', { http: 1.6, httpRedis: 2.2 }),
  ...feature('countIfKept', 'a countIf that refunds nothing / none', { http: PRICE, httpRedis: PRICE }),
  ...feature('concurrency', 'acquire and release / consume of a log', { node: 2.8, redis: 2.2, memory: 3 }),
  ...feature('concurrency', 'a concurrency / a log', { http: 1.4, httpRedis: 2.2 }),
  ...feature('plans', 'clients of a plan / a policy without plans', { node: 1.15, redis: 1.02, memory: 1.5 }),
  ...feature('plans', 'clients of a plan from the cache / a policy without plans', { http: PRICE, httpRedis: PRICE }),
  ...feature('overrideOfOwn', 'clients with an override / no overrides', { node: 1.3, redis: 1.05, memory: 1.6 }),
  ...feature('overrideForEveryone', 'one override for everyone / no overrides', {
    node: 1.5,
    redis: 1.05,
    memory: 1.8,
  }),
  ...feature('overridesOfOthers', '10,000 overrides of others / no overrides', { node: 1.05, redis: 1, memory: 1.15 }),
  ...feature('shadow', 'a policy and a shadow / the policy', { node: 1.6, redis: 1.8, memory: 2.5 }),
  ...feature('priorities', 'a class that leaves half of the limit free / a policy without priorities', {
    node: 1.02,
    redis: 1.02,
    memory: PRICE,
  }),
  ...feature('elseUnused', 'else that no request needs / none', { node: 1.1, redis: 1.1, memory: 1.1 }),
  ...feature('elseRunsOver', 'else that every request needs / none', { node: PRICE, redis: PRICE, memory: PRICE }),
  ...feature('secondPolicy', 'two policies / one', {
    node: 1.5,
    redis: 1.7,
    memory: 2.2,
    http: PRICE,
    httpRedis: PRICE,
  }),
  ...feature('costByName', 'a cost of one policy by its name / one cost for both', {
    node: 1.05,
    redis: 1.05,
    memory: 1.05,
  }),
  ...feature('model', 'limitModel / reserve and settle by hand', { node: 1.1, redis: 1.1, memory: 1.1 }),
  ...feature('blockFor', 'nobody refused, with blockFor / without', {
    node: 1.3,
    redis: 1.5,
    memory: 2,
    http: PRICE,
    httpRedis: PRICE,
  }),
  ...feature('shed', 'a process that could shed, and does not / one that cannot', { http: 1.01, httpRedis: PRICE }),
  ...feature('blockForRefused', 'all refused, blocked / without blockFor', { node: PRICE }),
  ...feature('blockAfter', 'all refused, counted before the block / without blockFor', { node: PRICE }),
  ...feature('metrics', 'with RateLimitMetricsModule / unwatched', { node: 1.05, redis: 1, memory: 1.12 }),
  ...feature('metricsOtel', 'with RateLimitMetricsModule through OpenTelemetry / unwatched', {
    node: PRICE,
    redis: PRICE,
    memory: PRICE,
  }),
  ...feature('onDecision', 'with onDecision / unwatched', { node: 1.05, redis: 1, memory: 1.12 }),
  'shedding.critical': {
    what: 'a process with 4 times what it can do: p99 of critical requests, with shed / unloaded',
    atMost: 3,
  },
  'shedding.without': {
    what: 'a process with 4 times what it can do: p99 of critical requests, without shed / unloaded',
  },
  'shedding.underPressure': {
    what: 'a process with 4 times what it can do: p99 of critical requests, under-pressure that spares them / unloaded',
  },
  'loading.import': { what: 'import of the package after Nest: time, to @nestjs/throttler', atMost: 2 },
  'loading.require': { what: 'require of the package after Nest: time, to @nestjs/throttler', atMost: 2 },
  'loading.listens': { what: 'from import until the application listens: time, to @nestjs/throttler' },
  'loading.bytes': { what: 'bytes that the package installs, to @nestjs/throttler' },
};
