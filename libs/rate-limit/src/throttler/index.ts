export { DEFAULT_IPV6_SUBNET_PREFIX, normalizeIp } from './ip.js';
export type {
  Resolvable,
  ThrottlerAsyncOptions,
  ThrottlerGenerateKeyFunction,
  ThrottlerGetTrackerFunction,
  ThrottlerLimitDetail,
  ThrottlerModuleOptions,
  ThrottlerOptions,
  ThrottlerOptionsFactory,
  ThrottlerRequest,
} from './options.js';
export { type ThrottlerStorageRecord, ThrottlerStorage, ThrottlerStorageService } from './storage.js';
export { InjectThrottlerOptions, InjectThrottlerStorage, SkipThrottle, Throttle } from './decorators.js';
export { ThrottlerException, throttlerMessage } from './throttler.exception.js';
export { ThrottlerGuard } from './throttler.guard.js';
export { ThrottlerModule } from './throttler.module.js';
export { getOptionsToken, getStorageToken } from './tokens.js';
export { days, hours, minutes, seconds, weeks } from './durations.js';
