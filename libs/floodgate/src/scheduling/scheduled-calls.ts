import type { Identity } from '../identity/identity.js';
import { RateLimitConfigError, shown } from '../util/config-error.js';
import { type Duration, durationToMilliseconds, shownDuration } from '../util/duration.js';
import { checkOptions } from '../engine/calls/option-names.js';
import type { CallPolicies, LimiterPolicy } from '../engine/calls/call-policies.js';
import type { Pauses } from './pauses.js';
import { LONGEST_PAUSE_MS } from '../layers/pauses/longest-pause.js';
import { NO_SCHEDULE_OPTIONS, readSchedule, type ScheduleOptions } from './schedule-options.js';
import type { Scheduler, Work } from './scheduler.js';

const SCHEDULE = 'RateLimiter.schedule';
const PAUSE = 'RateLimiter.pause';

/** The methods of `RateLimiter` for calls that wait for their turns: `schedule` and `pause`. */
export class ScheduledCalls {
  constructor(
    private readonly policies: CallPolicies,
    private readonly scheduler: Scheduler,
    private readonly pauses: Pick<Pauses, 'pause'>,
  ) {}

  /**
   * Takes the arguments of `RateLimiter.schedule`, with the identity or without it.
   *
   * @throws as `RateLimiter.schedule` rejects
   */
  schedule<T>(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    first: Identity | null | Work<T>,
    second: Work<T> | ScheduleOptions<T> | undefined,
    third: ScheduleOptions<T> | undefined,
  ): T | PromiseLike<T> {
    const isShort = typeof first === 'function';
    const fn = isShort ? first : second;
    if (typeof fn !== 'function') {
      throw new RateLimitConfigError(
        SCHEDULE,
        `takes (policies, identity, fn, options), and fn must be a function, got ${shown(fn)}`,
      );
    }
    const given = isShort ? (second as ScheduleOptions<T> | undefined) : third;
    const checked = given === undefined ? NO_SCHEDULE_OPTIONS : readSchedule(given);
    const { options, costOf } = checked;
    const bound = this.policies.bind(policies, 'schedule');
    const identity = isShort ? null : first;
    const charges = this.scheduler.charges.scheduled(bound, identity, options, costOf !== undefined, SCHEDULE);
    return this.scheduler.run(charges, fn, checked);
  }

  async pause(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity: Identity | null,
    options: { for: Duration },
  ): Promise<boolean> {
    checkOptions(options, 'pause', ['for'], "{ for: '30s' }");
    const { for: length } = options;
    const ms = durationToMilliseconds(length) ?? NaN;
    if (!(ms >= 1 && ms <= LONGEST_PAUSE_MS)) {
      const most = shownDuration(LONGEST_PAUSE_MS);
      throw new RateLimitConfigError(PAUSE, `for must be a duration from '1ms' to ${most}, got ${shown(length)}`);
    }
    const bound = this.policies.bind(policies, 'pause');
    const tag = this.scheduler.charges.identityTag(identity, bound, PAUSE);
    return this.pauses.pause(this.scheduler.charges.states(bound, tag), ms);
  }
}
