import type { Distribution, PolicyStats, RateLimitStats, ScheduledStats } from './stats.js';

/** One line of a metric. */
interface Sample {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly metricName?: string;
}

interface Definition {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** How the processes of a Node cluster are combined. */
  readonly aggregator: 'sum' | 'min' | 'max';
  readonly samples: (stats: readonly RateLimitStats[]) => Sample[];
}

const MS = 1000;

/** The results of scheduled calls, and their labels. */
const RESULTS = [
  ['atOnce', 'at-once'],
  ['waited', 'waited'],
  ['late', 'late'],
  ['aborted', 'aborted'],
  ['full', 'full'],
  ['closed', 'closed'],
  ['failed', 'failed'],
] as const;

/** The metrics. They are read from the library's counters on demand: no request waits for a metric. */
const DEFINITIONS: readonly Definition[] = [
  perPolicy('requests', 'Evaluated requests'),
  perPolicy('allowed', 'Evaluated requests that were allowed'),
  perPolicy('rejected', 'Evaluated requests that the policy rejected'),
  perShadow('requests', 'Requests that a policy in shadow was evaluated for'),
  perShadow('allowed', 'Allowed requests that a policy in shadow would have allowed'),
  perShadow('rejected', 'Requests that a policy in shadow would have rejected'),
  histogram(
    'rate_limiter_latency_seconds',
    'Time until the store decided on a request, or failed',
    ({ latencyMs }) => latencyMs,
    MS,
  ),
  histogram('rate_limiter_batch_size', 'Requests in a batch for Redis', ({ batchSizes }) => batchSizes),
  counter(
    'rate_limiter_store_failures_total',
    'Requests, peeks and probes that the store did not answer in time',
    (stats) => [{ value: sum(stats, ({ storeFailures }) => storeFailures), labels: {} }],
  ),
  counter('rate_limiter_fallback_decisions_total', 'Requests that the fallback decided, by onStoreFailure', (stats) =>
    (['local', 'open', 'closed'] as const).map((mode) => ({
      value: sum(stats, ({ sources }) => sources[mode]),
      labels: { mode },
    })),
  ),
  counter(
    'rate_limiter_denial_cache_hits_total',
    'Rejections from the denial cache, without asking the store',
    (stats) => [{ value: sum(stats, ({ sources }) => sources['denial-cache']), labels: {} }],
  ),
  counter(
    'rate_limiter_prefetch_decisions_total',
    'Requests that prefetched tokens paid alone, without asking the store',
    (stats) => [{ value: sum(stats, ({ sources }) => sources.prefetch), labels: {} }],
  ),
  counter(
    'rate_limiter_prefetched_tokens_total',
    'Tokens that the process charged ahead of demand, and unused ones',
    (stats) =>
      (['prefetched', 'returned', 'expired'] as const).map((state) => ({
        value: sum(stats, ({ prefetch }) => prefetch[state]),
        labels: { state },
      })),
  ),
  counter('rate_limiter_listed_requests_total', 'Requests whose address is in allowList or blockList', (stats) => [
    { value: sum(stats, ({ addresses }) => addresses.allowed), labels: { list: 'allow' } },
    { value: sum(stats, ({ addresses }) => addresses.blocked), labels: { list: 'block' } },
  ]),
  counter(
    'rate_limiter_missing_identities_total',
    'Requests that a policy counted by their address, because they lack the identity that it asks for',
    (stats) => {
      const values = new Map<string, number>();
      for (const { policy, requests } of stats.flatMap((one) => one.missingIdentities)) {
        values.set(policy, (values.get(policy) ?? 0) + requests);
      }
      return Array.from(values, ([policy, value]) => ({ value, labels: { policy } }));
    },
  ),
  counter(
    'rate_limiter_run_over_total',
    'Allowed requests that did not fit a policy, and that a policy behind its else took',
    (stats) => {
      const values = new Map<string, Sample>();
      for (const { policy, to, requests } of stats.flatMap((one) => one.runOver)) {
        const id = `${policy}\n${to}`;
        values.set(id, { value: (values.get(id)?.value ?? 0) + requests, labels: { policy, to } });
      }
      return [...values.values()];
    },
  ),
  counter(
    'rate_limiter_function_failures_total',
    'Functions of the application that failed or took longer than the deadline',
    (stats) =>
      (
        [
          'policy',
          'identity',
          'cost',
          'timeZone',
          'priority',
          'skipIf',
          'countIf',
          'settle',
          'problem',
          'plan',
          'list',
          'shed',
        ] as const
      ).map((kind) => ({
        value: sum(stats, ({ functionFailures }) => functionFailures[kind]),
        labels: { function: kind },
      })),
  ),
  counter('rate_limiter_overridden_total', 'Charges that overrides have changed, left out or rejected', (stats) =>
    (['changed', 'exempt', 'blocked'] as const).map((kind) => ({
      value: sum(stats, ({ overridden }) => overridden[kind]),
      labels: { override: kind },
    })),
  ),
  gauge('rate_limiter_overrides', 'Overrides that the process obeys', 'max', (stats) =>
    Math.max(0, ...stats.map(({ overrides }) => overrides.count)),
  ),
  gauge(
    'rate_limiter_overrides_loaded',
    'Whether the overrides were read from Redis: 1, or 0 until then',
    'min',
    (stats) => (stats.every(({ overrides }) => overrides.loaded) ? 1 : 0),
  ),
  counter(
    'rate_limiter_plan_lookups_total',
    'Plans of clients that were looked for, by where they came from',
    (stats) =>
      (['cache', 'resolver', 'lastKnown', 'fallback'] as const).map((source) => ({
        value: sum(stats, ({ plans }) => plans[source]),
        labels: { source: source === 'lastKnown' ? 'last-known' : source },
      })),
  ),
  counter(
    'rate_limiter_memory_overflow_total',
    'Decisions of a full memory store on a state that clients without room share',
    (stats) => [{ value: sum(stats, ({ memoryOverflows }) => memoryOverflows), labels: {} }],
  ),
  gauge('rate_limiter_waiting', 'Requests that wait for a leaky bucket', 'sum', (stats) =>
    sum(stats, ({ waiting }) => waiting),
  ),
  counter(
    'rate_limiter_scheduled_total',
    'Calls of RateLimiter.schedule that have ended, by what became of them',
    (stats) => RESULTS.flatMap(([field, result]) => perScheduled(stats, field, { result })),
  ),
  {
    name: 'rate_limiter_scheduled_waiting',
    help: 'Calls of RateLimiter.schedule that wait for their turn',
    type: 'gauge',
    aggregator: 'sum',
    samples: (stats) => perScheduled(stats, 'waiting', {}),
  },
  counter('rate_limiter_shed_total', 'Requests that the process rejected because it was over a threshold', (stats) => {
    const values = new Map<string, number>();
    for (const { priority, requests } of stats.flatMap(({ shedding }) => shedding?.rejected ?? [])) {
      values.set(priority, (values.get(priority) ?? 0) + requests);
    }
    return Array.from(values, ([priority, value]) => ({ value, labels: { priority } }));
  }),
  gauge(
    'rate_limiter_shed_level',
    'How much the process sheds: 0 nothing, 1 all requests of the classes that give way',
    'max',
    (stats) => Math.max(0, ...stats.map(({ shedding }) => shedding?.level ?? 0)),
  ),
  gauge('rate_limiter_store_available', 'Whether the store is available: 1, or 0 during an outage', 'min', (stats) =>
    stats.every(({ store }) => store.available) ? 1 : 0,
  ),
];

/** A metric for a registry of `prom-client`, in any of its formats. */
export class LibraryMetric {
  readonly help: string;
  readonly type: Definition['type'];
  readonly aggregator: Definition['aggregator'];
  /** The name under which a registry keeps the metric. */
  readonly id: string;
  /** A registry of the OpenMetrics format takes `_total` off the name. */
  name: string;

  constructor(
    private readonly definition: Definition,
    private readonly read: () => readonly RateLimitStats[],
  ) {
    ({ name: this.id, help: this.help, type: this.type, aggregator: this.aggregator } = definition);
    this.name = this.id;
  }

  // oxlint-disable-next-line require-await -- the registry expects a promise
  async get(): Promise<Pick<this, 'name' | 'help' | 'type' | 'aggregator'> & { values: Sample[] }> {
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values: this.definition.samples(this.read()) };
  }

  /** Does nothing: the counters belong to the library. */
  reset(): void {}
}

/** The metrics over what `read` returns each time. */
export function libraryMetrics(read: () => readonly RateLimitStats[]): LibraryMetric[] {
  return DEFINITIONS.map((definition) => new LibraryMetric(definition, read));
}

function counter(name: string, help: string, samples: Definition['samples']): Definition {
  return { name, help, type: 'counter', aggregator: 'sum', samples };
}

function gauge(
  name: string,
  help: string,
  aggregator: Definition['aggregator'],
  value: (stats: readonly RateLimitStats[]) => number,
): Definition {
  return { name, help, type: 'gauge', aggregator, samples: (stats) => [{ value: value(stats), labels: {} }] };
}

function perPolicy(count: 'requests' | 'allowed' | 'rejected', help: string): Definition {
  return tallied(`rate_limiter_${count}_total`, help, count, ({ policies }) => policies);
}

function perShadow(count: 'requests' | 'allowed' | 'rejected', help: string): Definition {
  return tallied(`rate_limiter_shadow_${count}_total`, help, count, ({ shadows }) => shadows);
}

function tallied(
  name: string,
  help: string,
  count: 'requests' | 'allowed' | 'rejected',
  pick: (stats: RateLimitStats) => readonly PolicyStats[],
): Definition {
  return counter(name, help, (stats) => {
    const values = new Map<string, Sample>();
    for (const tally of stats.flatMap(pick)) {
      const { policy, algorithm, priority } = tally;
      const id = `${algorithm} ${policy}\n${priority ?? ''}`;
      const labels: Sample['labels'] = priority === undefined ? { policy, algorithm } : { policy, algorithm, priority };
      values.set(id, { value: (values.get(id)?.value ?? 0) + tally[count], labels });
    }
    return [...values.values()];
  });
}

/** A count of scheduled calls, by policy. */
function perScheduled(
  stats: readonly RateLimitStats[],
  count: Exclude<keyof ScheduledStats, 'policy'>,
  labels: Sample['labels'],
): Sample[] {
  const values = new Map<string, number>();
  for (const tally of stats.flatMap(({ scheduled }) => scheduled)) {
    values.set(tally.policy, (values.get(tally.policy) ?? 0) + tally[count]);
  }
  return Array.from(values, ([policy, value]) => ({ value, labels: { policy, ...labels } }));
}

/** @param per the divisor of all values */
function histogram(
  name: string,
  help: string,
  pick: (stats: RateLimitStats) => Distribution | undefined,
  per = 1,
): Definition {
  const samples: Definition['samples'] = (stats) => {
    const given = stats.map(pick).filter((one) => one !== undefined);
    const bounds = given[0]?.buckets ?? [];
    const count = sum(given, (one) => one.count);
    const bucket = (le: number | string, value: number): Sample => ({
      value,
      labels: { le },
      metricName: `${name}_bucket`,
    });
    return [
      ...bounds.map(({ upTo }, i) =>
        bucket(
          upTo / per,
          sum(given, ({ buckets }) => buckets[i]!.count),
        ),
      ),
      bucket('+Inf', count),
      { value: sum(given, (one) => one.sum) / per, labels: {}, metricName: `${name}_sum` },
      { value: count, labels: {}, metricName: `${name}_count` },
    ];
  };
  return { name, help, type: 'histogram', aggregator: 'sum', samples };
}

function sum<T>(values: readonly T[], pick: (value: T) => number): number {
  return values.reduce((total, value) => total + pick(value), 0);
}
