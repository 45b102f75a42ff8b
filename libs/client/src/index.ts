export { rateLimitFetch, type RateLimitFetchOptions } from './fetch.js';
export {
  type AxiosConfigLike,
  type AxiosInterceptorsLike,
  type AxiosLike,
  type AxiosResponseLike,
  rateLimitAxios,
} from './axios.js';
export { RateLimitWaitError } from './errors.js';
export type { ClientRequest, ClientWait, RateLimitClientOptions } from './options.js';
export type { ClientTime } from './time.js';
export { RateLimitConfigError } from '../../floodgate/src/util/config-error.js';
