import { byResult, counter, each, gauge, histogram, type Instrument, sum } from './instrument.js';

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

/**
 * Everything that is published: for each instrument the name in OpenTelemetry (after `rate_limit.`), the name in Prometheus (after
 * `rate_limiter_`), the unit, and how its figures are read. Another instrument is another entry here, a row of the table in
 * docs/metrics.md, and a panel or an alert in `monitoring/`. Both publishers follow the table.
 *
 * `requests`, `queued_requests`, `request.time_in_queue` and `active_request_leases` mirror `aspnetcore.rate_limiting.*`, the one stable
 * precedent, in kind, unit, bounds and attributes: https://opentelemetry.io/docs/specs/semconv/dotnet/dotnet-aspnetcore-metrics/. Only
 * `queued_requests` has no policy: a request of several buckets waits once, for the latest of its slots. `decision.duration` and
 * `batch.size` have none either, since the store decides on all policies of a request, and of a batch, in one step.
 */
export const INSTRUMENTS: readonly Instrument[] = [
  byResult(
    ['requests', ''],
    ['Evaluated requests', 'Evaluated requests that were allowed', 'Evaluated requests that the policy rejected'],
    ({ policies }) => policies,
  ),
  byResult(
    ['shadow.requests', 'shadow_'],
    [
      'Requests that a policy in shadow was evaluated for',
      'Allowed requests that a policy in shadow would have allowed',
      'Requests that a policy in shadow would have rejected',
    ],
    ({ shadows }) => shadows,
  ),
  histogram(
    ['decision.duration', 'latency_seconds', 's'],
    'Time until the store decided on a request, or failed',
    [],
    'latency',
    ({ latencyMs: value }) => value && [{ value, labels: {} }],
  ),
  histogram(
    ['batch.size', 'batch_size', '{request}'],
    'Requests in a batch for Redis',
    [],
    'batches',
    ({ batchSizes: value }) => [{ value, labels: {} }],
  ),
  counter(
    ['store.failures', 'store_failures_total', '{failure}'],
    'Requests, peeks and probes that the store did not answer in time',
    [],
    ({ storeFailures }) => [[{}, storeFailures]],
  ),
  counter(
    ['fallback.decisions', 'fallback_decisions_total', '{request}'],
    'Requests that the fallback decided, by onStoreFailure',
    ['mode'],
    ({ sources: { local, open, closed } }) => each('mode', { local, open, closed }),
  ),
  counter(
    ['denial_cache.hits', 'denial_cache_hits_total', '{request}'],
    'Rejections from the denial cache, without asking the store',
    [],
    ({ sources }) => [[{}, sources['denial-cache']]],
  ),
  counter(
    ['prefetch.decisions', 'prefetch_decisions_total', '{request}'],
    'Requests that prefetched tokens paid alone, without asking the store',
    [],
    ({ sources }) => [[{}, sources.prefetch]],
  ),
  counter(
    ['prefetch.tokens', 'prefetched_tokens_total', '{token}'],
    'Tokens that the process charged ahead of demand, and unused ones',
    ['state'],
    ({ prefetch: { prefetched, returned, expired } }) => each('state', { prefetched, returned, expired }),
  ),
  counter(
    ['listed_requests', 'listed_requests_total', '{request}'],
    'Requests whose address is in allowList or blockList',
    ['list'],
    ({ addresses: { allowed, blocked } }) => each('list', { allow: allowed, block: blocked }),
  ),
  counter(
    ['missing_identities', 'missing_identities_total', '{request}'],
    'Requests that a policy counted by their address, because they lack the identity that it asks for',
    ['policy'],
    ({ missingIdentities }) => missingIdentities.map(({ policy, requests }) => [{ policy }, requests]),
  ),
  counter(
    ['run_over', 'run_over_total', '{request}'],
    'Allowed requests that did not fit a policy, and that a policy behind its else took',
    ['policy', 'to'],
    ({ runOver }) => runOver.map(({ policy, to, requests }) => [{ policy, to }, requests]),
  ),
  counter(
    ['function.failures', 'function_failures_total', '{failure}'],
    'Functions of the application that failed or took longer than the deadline',
    ['function'],
    ({ functionFailures }) => each('function', functionFailures),
  ),
  counter(
    ['overridden_charges', 'overridden_total', '{charge}'],
    'Charges that overrides have changed, left out or rejected',
    ['override'],
    ({ overridden: { changed, exempt, blocked } }) => each('override', { changed, exempt, blocked }),
  ),
  gauge(
    ['active_overrides', 'overrides', '{override}'],
    'Overrides that the process obeys',
    'max',
    ({ overrides }) => overrides.count,
  ),
  gauge(
    ['overrides_loaded', 'overrides_loaded', '1'],
    'Whether the overrides were read from Redis: 1, or 0 until then',
    'min',
    ({ overrides }) => Number(overrides.loaded),
  ),
  counter(
    ['plan_lookups', 'plan_lookups_total', '{lookup}'],
    'Plans of clients that were looked for, by where they came from',
    ['source'],
    ({ plans: { cache, resolver, lastKnown, fallback } }) =>
      each('source', { cache, resolver, 'last-known': lastKnown, fallback }),
  ),
  counter(
    ['memory_overflows', 'memory_overflow_total', '{request}'],
    'Decisions of a full memory store on a state that clients without room share',
    [],
    ({ memoryOverflows }) => [[{}, memoryOverflows]],
  ),
  sum(['queued_requests', 'waiting', '{request}'], 'Requests that wait for a leaky bucket', [], ({ waiting }) => [
    [{}, waiting],
  ]),
  counter(
    ['scheduled_calls', 'scheduled_total', '{call}'],
    'Calls of RateLimiter.schedule that have ended, by what became of them',
    ['policy', 'result'],
    ({ scheduled }) =>
      scheduled.flatMap((calls) => RESULTS.map(([field, result]) => [{ policy: calls.policy, result }, calls[field]])),
  ),
  sum(
    ['queued_calls', 'scheduled_waiting', '{call}'],
    'Calls of RateLimiter.schedule that wait for their turn',
    ['policy'],
    ({ scheduled }) => scheduled.map(({ policy, waiting }) => [{ policy }, waiting]),
  ),
  histogram(
    ['request.time_in_queue', 'time_in_queue_seconds', 's'],
    'Time that requests waited for a leaky bucket, until they passed or gave up',
    ['policy', 'priority', 'result'],
    'queue',
    ({ queueTimes }) => queueTimes.map(({ waitedMs: value, ...labels }) => ({ value, labels })),
  ),
  sum(
    ['active_request_leases', 'leases', '{request}'],
    'Requests that hold a lease of a concurrency',
    ['policy'],
    ({ leases }) => leases.map(({ policy, held }) => [{ policy }, held]),
  ),
  counter(
    ['shed_requests', 'shed_total', '{request}'],
    'Requests that the process rejected because it was over a threshold',
    ['priority'],
    ({ shedding }) => (shedding?.rejected ?? []).map(({ priority, requests }) => [{ priority }, requests]),
  ),
  gauge(
    ['shed_level', 'shed_level', '1'],
    'How much the process sheds: 0 nothing, 1 all requests of the classes that give way',
    'max',
    ({ shedding }) => shedding?.level ?? 0,
  ),
  gauge(
    ['store_available', 'store_available', '1'],
    'Whether the store is available: 1, or 0 during an outage',
    'min',
    ({ store }) => Number(store.available),
  ),
];
