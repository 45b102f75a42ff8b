/** Simulated riders: the one part of `src` that the load generator (`surge`) imports. The control room sends the same ones. */
export { type Answer, Crowd, type CrowdOptions, type CrowdSnapshot, type Observation } from './crowd.js';
export { HttpSender } from './http-sender.js';
export { Random } from './random.js';
export { REQUESTS_PER_VISIT, Rider, type RiderRequest, type Route, ROUTES } from './rider.js';
