import type { Redis } from 'ioredis';
import type { Algorithm } from '../../libs/rate-limit/src/algorithms/algorithm.js';
import type { Charge, ChargeVerdict } from '../../libs/rate-limit/src/stores/store.js';
import { windowOf } from '../support/algorithm-of.js';

/**
 * The oracle: the sliding window log as a sorted set with a member for each unit of cost, which is how it is usually built.
 *
 * KEYS[1]  the set
 * ARGV     now, window (both in microseconds), limit, cost, a number that makes members unique
 * returns  1 if the request is allowed, else 0; the number of members after it; the newest instant or ''; for a rejected
 *          request the instant of the last member that has to expire before it fits, else ''
 */
const SCRIPT = `
local key, now, window, limit, cost = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now - window))
local used = redis.call('ZCARD', key)
local asked = math.max(cost, 1)
local allowed = used + asked <= limit
local last = ''
if allowed then
  for i = 1, cost do redis.call('ZADD', key, ARGV[1], ARGV[5] .. ':' .. i) end
  used = used + cost
elseif asked <= limit then
  local index = used + asked - limit - 1
  last = redis.call('ZRANGE', key, index, index, 'WITHSCORES')[2]
end
local newest = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2] or ''
return { allowed and 1 or 0, used, newest, last }
`;

export class SortedSetLog {
  private readonly window: number;
  private requests = 0;

  constructor(
    private readonly client: Redis,
    private readonly algorithm: Algorithm,
  ) {
    this.window = windowOf(algorithm);
  }

  async consume(now: number, { key, cost }: Charge): Promise<ChargeVerdict> {
    const { window } = this;
    const { limit, maxCost } = this.algorithm;
    const args = [now, window, limit, cost, this.requests++];
    const reply = (await this.client.eval(SCRIPT, 1, key, ...args)) as [number, number, string, string];
    const [allowed, used, newest, last] = reply;
    const until = (instant: string) => (instant === '' ? 0 : Number(instant) + window - now);
    return {
      allowed: allowed === 1,
      remaining: Math.max(0, limit - used),
      resetAfter: until(newest),
      retryAfter: cost > maxCost ? Infinity : until(last),
      delay: 0,
    };
  }
}
