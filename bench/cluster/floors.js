/** What each ratio says, and how good it has to be: `atLeast` or `atMost`; a price has neither. In the order of the table. */
export const CLUSTER_FLOORS = {
  'cluster6.nodeCpu': {
    what: '6 masters, 10,000 keys, 512 in flight: Node CPU per decision, to rate-limiter-flexible',
    atMost: 0.5,
  },
  'cluster6.redisCpu': {
    what: '6 masters, 512 in flight: Redis CPU per decision, all masters, to rate-limiter-flexible',
    atMost: 0.6,
  },
  'cluster6.hottest': {
    what: '6 masters, 512 in flight: Redis CPU per decision of the hottest master, to rate-limiter-flexible',
  },
  'cluster3.nodeCpu': { what: '3 masters, 512 in flight: Node CPU per decision, to rate-limiter-flexible' },
  'cluster3.redisCpu': {
    what: '3 masters, 512 in flight: Redis CPU per decision, all masters, to rate-limiter-flexible',
  },
  'cluster1.nodeCpu': { what: '1 master, 512 in flight: Node CPU per decision, to rate-limiter-flexible' },
  'cluster1.redisCpu': { what: '1 master, 512 in flight: Redis CPU per decision, to rate-limiter-flexible' },
  'cluster.linearity': {
    what: '512 in flight: decisions a Redis-CPU-second, 6 masters / one plain Redis',
    atLeast: 0.7,
  },
  'cluster64.nodeCpu': { what: '6 masters, 64 in flight: Node CPU per decision, to rate-limiter-flexible' },
  'cluster64.redisCpu': {
    what: '6 masters, 64 in flight: Redis CPU per decision, all masters, to rate-limiter-flexible',
  },
  'cluster64.linearity': { what: '6 masters, 64 in flight: decisions a Redis-CPU-second, 6 masters / one plain Redis' },
  'quiet6.redisCpu': {
    what: '6 masters, 4 processes with one request each: Redis CPU per decision, to rate-limiter-flexible',
  },
  'quiet6.linearity': {
    what: '6 masters, 4 processes with one request each: decisions a Redis-CPU-second, 6 masters / one plain Redis',
  },
  'shards6.share': { what: 'a global policy with 6 shards on 6 masters: share of the hottest master', atMost: 0.22 },
  'shards6.hottest': {
    what: 'a global policy with 6 shards on 6 masters: Redis CPU per decision of the hottest master, to the same policy without shards',
  },
};
