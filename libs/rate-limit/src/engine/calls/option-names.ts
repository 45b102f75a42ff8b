/** The options of the methods of `RateLimiter` that charge. */
export const CHARGE_OPTIONS: readonly string[] = ['cost', 'plan', 'timeZone', 'priority'];

/** The options of `RateLimiter.schedule`: those of all methods that charge, and its own. */
export const SCHEDULE_OPTIONS: readonly string[] = [...CHARGE_OPTIONS, 'estimate', 'until', 'signal', 'maxWaitMs'];
