export { DEFAULT_IPV6_SUBNET_PREFIX, normalizeIp } from './throttler/ip.js';
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
} from './throttler/options.js';
export { type ThrottlerStorageRecord, ThrottlerStorage, ThrottlerStorageService } from './throttler/storage.js';
export { InjectThrottlerOptions, InjectThrottlerStorage, SkipThrottle, Throttle } from './throttler/decorators.js';
export { ThrottlerException, throttlerMessage } from './throttler/throttler.exception.js';
export { ThrottlerGuard } from './throttler/throttler.guard.js';
export { ThrottlerModule } from './throttler/throttler.module.js';
export { getOptionsToken, getStorageToken } from './throttler/tokens.js';
export { days, hours, minutes, seconds, weeks } from './throttler/durations.js';
