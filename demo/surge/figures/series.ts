import type { CaseName } from '../cases.js';
import { capacityOf } from '../city.js';
import type { CaseRecord } from '../run-case.js';
import { groupBy } from './group-by.js';
import { outcomeOf } from './outcome.js';
import { timesOf } from './times.js';

/** A case over time: one value per second, null without data. */
export interface CaseSeries {
  readonly name: CaseName;
  readonly title: string;
  readonly seconds: readonly number[];
  /** Milliseconds of the requests sent in that second that were not rejected. */
  readonly median: readonly (number | null)[];
  readonly p99: readonly (number | null)[];
  /** Requests per second that matching can serve. */
  readonly capacity: number;
  /** When the riders stopped sending, in seconds. Some answers come later. */
  readonly sentFor: number;
  /** Answers received in that second. */
  readonly served: readonly number[];
  readonly rejected: readonly number[];
  readonly failed: readonly number[];
  /** Requests in the queue of matching. */
  readonly waiting: readonly (number | null)[];
  /** The busy share of the workers' time, 0 to 1. */
  readonly utilisation: readonly (number | null)[];
}

export function seriesOf({ surgeCase, city, observations, sentForMs, matching }: CaseRecord): CaseSeries {
  const lastMs = observations.reduce((last, { answeredAt }) => Math.max(last, answeredAt), sentForMs);
  const seconds = Array.from({ length: Math.ceil(lastMs / 1000) }, (_, second) => second);
  const notRejected = observations.filter((each) => outcomeOf(each) !== 'rejected');
  const sent = groupBy(notRejected, ({ sentAt }) => Math.floor(sentAt / 1000));
  const times = seconds.map((second) => {
    const latencies = (sent.get(second) ?? []).map(({ sentAt, answeredAt }) => answeredAt - sentAt);
    return latencies.length > 0 ? timesOf(latencies) : undefined;
  });
  const answered = groupBy(observations, (each) => `${outcomeOf(each)} ${Math.floor(each.answeredAt / 1000)}`);
  const samples = new Map(matching.samples.map(({ atMs, statistics }) => [Math.floor(atMs / 1000), statistics]));
  return {
    name: surgeCase.name,
    title: surgeCase.title,
    seconds,
    median: times.map((each) => each?.median ?? null),
    p99: times.map((each) => each?.p99 ?? null),
    capacity: capacityOf(city),
    sentFor: sentForMs / 1000,
    served: seconds.map((second) => answered.get(`served ${second}`)?.length ?? 0),
    rejected: seconds.map((second) => answered.get(`rejected ${second}`)?.length ?? 0),
    failed: seconds.map((second) => answered.get(`failed ${second}`)?.length ?? 0),
    waiting: seconds.map((second) => samples.get(second)?.waiting ?? null),
    utilisation: seconds.map((second) => samples.get(second)?.recent.utilisation ?? null),
  };
}
