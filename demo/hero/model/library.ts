// The only door from the hero to the library: the one algorithm that it needs, since pages load each module that stands here.
export { exactRate } from '../../../libs/floodgate/src/algorithms/core/rate.js';
export { TokenBucket } from '../../../libs/floodgate/src/algorithms/token-bucket/token-bucket.js';
export { judge } from '../../../libs/floodgate/src/stores/judge.js';
