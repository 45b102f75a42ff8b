/** A ratio of the bench: the median of its rounds, and their middle half from `low` to `high`. */
export interface Ratio {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** What the pages draw: a run of `npm run site:bench`. */
export interface Benchmarks {
  readonly date: string;
  readonly machine: string;
  readonly ratios: Readonly<Record<string, Ratio>>;
}

export interface BenchRow {
  /** The ratio's name in the bench. */
  readonly name: string;
  readonly what: string;
  /** What Floodgate is compared with. */
  readonly to: string;
  /** Which ratios are better for Floodgate. */
  readonly better: 'more' | 'less';
}

const FLEXIBLE = 'rate-limiter-flexible';
const THROTTLER = '@nestjs/throttler on Redis';
const row = (name: string, what: string, to: string, better: 'more' | 'less'): BenchRow => ({ name, what, to, better });

export const GROUPS = {
  quiet: [
    row('single.latency', 'Latency', FLEXIBLE, 'less'),
    row('single.redisCpu', 'Redis CPU a decision', FLEXIBLE, 'less'),
    row('memoryStore.throughput', 'Decisions a second without Redis', 'RateLimiterMemory', 'more'),
    row('memoryStore.sync', 'The same with consumeSync', 'RateLimiterMemory', 'more'),
  ],
  saturated: [
    row('distinct512.throughput', 'Decisions a second, 10,000 keys', FLEXIBLE, 'more'),
    row('hot512.throughput', 'Decisions a second, one key', FLEXIBLE, 'more'),
    row('distinct512.nodeCpu', 'Node CPU a decision', FLEXIBLE, 'less'),
    row('distinct512.redisCpu', 'Redis CPU a decision', FLEXIBLE, 'less'),
    row('distinct64.throughput', 'Decisions a second, 64 under way', FLEXIBLE, 'more'),
  ],
  http: [
    row('http.express.cpuVsThrottler', 'Express: CPU of the application a request', THROTTLER, 'less'),
    row('http.fastify.cpuVsThrottler', 'Fastify: CPU of the application a request', THROTTLER, 'less'),
    row('http.express.cpu', 'Express: CPU of the application a request', 'no guard at all', 'less'),
    row('http.fastify.cpu', 'Fastify: CPU of the application a request', 'no guard at all', 'less'),
  ],
  first: [
    row('distinct512.throughput', 'Decisions a second, 512 requests under way', FLEXIBLE, 'more'),
    row('http.express.cpuVsThrottler', 'CPU of an Express application a request', THROTTLER, 'less'),
    row('single.latency', 'Latency, one request at a time', FLEXIBLE, 'less'),
    row('single.redisCpu', 'Redis CPU a decision, one request at a time', FLEXIBLE, 'less'),
  ],
} as const satisfies Readonly<Record<string, readonly BenchRow[]>>;
export type GroupName = keyof typeof GROUPS;

/** How many times better Floodgate is; below 1 the other one is. */
export function advantageOf({ better }: Pick<BenchRow, 'better'>, { median }: Ratio): number {
  return better === 'more' ? median : 1 / median;
}

/** Below these a difference is within what a machine varies by. */
const SAME = 1.03;

export function verdictOf(one: BenchRow, ratio: Ratio): 'better' | 'same' | 'worse' {
  const advantage = advantageOf(one, ratio);
  if (advantage > SAME) return 'better';
  return advantage < 1 / SAME ? 'worse' : 'same';
}

/** Two or three digits, as a reader compares them. */
export function shown(value: number): string {
  return value >= 10 ? value.toFixed(0) : value >= 2 ? value.toFixed(1) : value.toFixed(2);
}

/** The range as text; one figure where both ends are the same. */
export function rangeOf({ low, high }: Ratio): string {
  const [from, to] = [shown(low), shown(high)];
  return from === to ? from : `${from} to ${to}`;
}

/** The median in words: "27 % less", "3.4 times as many". */
export function wordsOf(one: BenchRow, ratio: Ratio): string {
  const { median } = ratio;
  if (verdictOf(one, ratio) === 'same') return 'the same';
  if (median >= 2) return `${shown(median)} times as ${one.better === 'more' ? 'many' : 'much'}`;
  const percent = `${Math.round(Math.abs(median - 1) * 100)} %`;
  if (median > 1) return `${percent} more`;
  return `${percent} ${one.better === 'more' ? 'fewer' : 'less'}`;
}

/** The figures of a group as a table, for the page as Markdown. */
export function tableOf(group: GroupName, { ratios }: Benchmarks): string {
  const rows = GROUPS[group].flatMap((one) => {
    const ratio = ratios[one.name];
    return ratio === undefined
      ? []
      : [`| ${one.what} | ${wordsOf(one, ratio)} | ${rangeOf(ratio)} | ${one.to} | ${verdictOf(one, ratio)} |`];
  });
  return ['| figure | in words | ratio | to | Floodgate is |', '| --- | --- | --- | --- | --- |', ...rows].join('\n');
}
