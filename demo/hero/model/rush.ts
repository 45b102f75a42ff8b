import { mulberry32 } from '../../riders/mulberry32.js';
import type { City } from './city.js';
import { exactRate, judge, TokenBucket } from './library.js';

export type Outcome = 'served' | 'refused' | 'failed';

/** A rider's request. Instants are milliseconds since the rush began. */
export interface Request {
  readonly sentAt: number;
  /** When the rider has an answer, or gives up. */
  readonly endedAt: number;
  readonly outcome: Outcome;
}

const SEED = 1;
/** The library's clock is whole microseconds since 1970. */
const CLOCK_US = 1_704_067_200_000_000;

/** When riders send: evenly, each somewhere in their own part of the time. */
function arrivalsOf({ demand, rushMs }: City): readonly number[] {
  const random = mulberry32(SEED);
  const count = Math.round((demand * rushMs) / 1000);
  return Array.from({ length: count }, (_, i) => ((i + random()) * rushMs) / count);
}

/** The limit before matching: the library's token bucket, whose decisions are the library's own. */
class Limit {
  private readonly algorithm: TokenBucket;
  private state: Parameters<TokenBucket['read']>[0];

  constructor({ capacity, refill }: City['limit']) {
    this.algorithm = new TokenBucket(capacity, exactRate(refill, capacity));
  }

  admits(atMs: number): boolean {
    const now = CLOCK_US + Math.floor(1000 * atMs);
    const { algorithm } = this;
    const found = {
      charge: { key: 'matching', algorithm, cost: 1, headroom: 0 },
      level: algorithm.read(this.state, now, 0),
    };
    const { allowed } = judge([found], now);
    if (allowed) this.state = algorithm.write(found.level, now, this.state);
    return allowed;
  }
}

/** Matching: some workers, and a queue in order of arrival. A worker also works for riders who have left. */
class Matching {
  /** When each worker has done all that was given to it. */
  private readonly freeAt: number[];
  /** When each waiting request begins, in order. */
  private readonly begins: number[] = [];

  constructor(private readonly city: City) {
    this.freeAt = Array.from({ length: city.workers }, () => 0);
  }

  /** @returns when the work is done; undefined: the queue is full */
  take(atMs: number): number | undefined {
    while (this.begins.length > 0 && this.begins[0]! <= atMs) this.begins.shift();
    const earliest = Math.min(...this.freeAt);
    if (earliest > atMs && this.begins.length >= this.city.queue) return undefined;
    const begin = Math.max(atMs, earliest);
    if (begin > atMs) this.begins.push(begin);
    return (this.freeAt[this.freeAt.indexOf(earliest)] = begin + this.city.serviceMs);
  }
}

/** The rush, without the limit or with it: the same riders, the same every time, in the order in which they send. */
export function rush(city: City, isLimited: boolean): readonly Request[] {
  const limit = new Limit(city.limit);
  const matching = new Matching(city);
  return arrivalsOf(city).map((sentAt): Request => {
    const soon = sentAt + city.roundTripMs;
    if (isLimited && !limit.admits(sentAt)) return { sentAt, endedAt: soon, outcome: 'refused' };
    const doneAt = matching.take(sentAt);
    if (doneAt === undefined) return { sentAt, endedAt: soon, outcome: 'failed' };
    const endedAt = doneAt + city.roundTripMs;
    const leavesAt = sentAt + city.patienceMs;
    return endedAt <= leavesAt
      ? { sentAt, endedAt, outcome: 'served' }
      : { sentAt, endedAt: leavesAt, outcome: 'failed' };
  });
}
