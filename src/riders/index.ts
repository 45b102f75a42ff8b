/** Simulated riders. The load generator (`surge`) imports them, and `src/processes`, and nothing else of `src`. The control room sends the same ones. */
export { type Answer, Crowd, type CrowdOptions, type CrowdSnapshot, type Observation } from './crowd.js';
export { HttpSender, type HttpSenderOptions } from './http-sender.js';
export { Random } from './random.js';
export { REQUESTS_PER_VISIT, Rider, type RiderRequest, type Route, ROUTES } from './rider.js';
