/** Simulated riders of the sample's HTTP API. The load generator (`surge`) and the control room send the same ones. */
export { type Answer, Crowd, type CrowdOptions, type CrowdSnapshot, type Observation } from './crowd.js';
export { HttpSender, type HttpSenderOptions } from './http-sender.js';
export { Random } from './random.js';
export {
  ATTEMPTS,
  CENTER,
  MEAN_RETRY_MS,
  PATIENCE_MS,
  REQUESTS_PER_VISIT,
  Rider,
  type RiderRequest,
  RIDES_PART,
  type Route,
  ROUTES,
} from './rider.js';
