import { Agent } from 'undici';
import type { Answer } from './crowd.js';
import type { RiderRequest, Route } from './rider.js';

/** The radius of the map that riders see. */
const MAP_RADIUS_KM = 0.5;

/** The longest that riders wait for an answer. The longest reported wait is 48 s. */
const PATIENCE_MS = 60_000;

interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: object;
}

const REQUESTS: Readonly<Record<Route, (request: RiderRequest) => HttpRequest>> = {
  rides: (request) => ({
    method: 'POST',
    path: '/api/rides/request',
    body: { rider_id: request.riderId, ...itinerary(request) },
  }),
  fares: (request) => ({ method: 'POST', path: '/api/fares/estimate', body: itinerary(request) }),
  nearby: ({ pickup: { lat, lng } }) => ({
    method: 'GET',
    path: `/api/drivers/nearby?lat=${lat}&lng=${lng}&radius_km=${MAP_RADIUS_KM}`,
  }),
};

/** Sends riders' requests to processes of the application, with the rider's `X-User-Id`, over connections that stay open. */
export class HttpSender {
  /** One connection for each open request, so that no request waits here. */
  private readonly agent = new Agent({ connections: null, headersTimeout: PATIENCE_MS, bodyTimeout: PATIENCE_MS });

  /** @param origins the origins of the processes, such as `http://127.0.0.1:3000` */
  constructor(private readonly origins: readonly string[]) {}

  readonly send = async (request: RiderRequest, pod: number): Promise<Answer> => {
    const { method, path, body } = REQUESTS[request.route](request);
    const response = await this.agent.request({
      origin: this.origins[pod]!,
      method,
      path,
      headers: { 'x-user-id': request.riderId, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.body.text();
    return { status: response.statusCode, ...read(response.statusCode, request.route, text) };
  };

  /** Aborts open requests. */
  async close(): Promise<void> {
    await this.agent.destroy();
  }
}

/** Parses only the bodies that matter, since parsing all of them would slow the generator down. */
function read(status: number, route: Route, text: string): Pick<Answer, 'driverId' | 'policy'> {
  if (status === 200 && route === 'rides') {
    const { driver } = JSON.parse(text) as { driver?: { driver_id: string } };
    return driver ? { driverId: driver.driver_id } : {};
  }
  return status === 429 ? { policy: (JSON.parse(text) as { policy: string }).policy } : {};
}

function itinerary({ pickup, dropoff }: RiderRequest): object {
  return { pickup_lat: pickup.lat, pickup_lng: pickup.lng, dropoff_lat: dropoff.lat, dropoff_lng: dropoff.lng };
}
