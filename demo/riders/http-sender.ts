import { Agent } from 'undici';
import type { Answer } from './crowd.js';
import { PATIENCE_MS, type RiderRequest, type Route } from './rider.js';

/** The radius of the map that riders see. */
const MAP_RADIUS_KM = 0.5;

export interface HttpSenderOptions {
  /** The longest that a rider waits for an answer, in milliseconds: from 1, default `PATIENCE_MS`. */
  readonly patienceMs?: number;
}

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

/**
 * Sends riders' requests to processes of the application, with the rider's `X-User-Id`, over connections that stay open.
 *
 * A rider whose patience ends leaves: the connection of their request is closed, and the answer has the status 0.
 */
export class HttpSender {
  /** One connection for each open request, so that no request waits here. Riders' patience is the only timeout. */
  private readonly agent = new Agent({ connections: null, headersTimeout: 0, bodyTimeout: 0 });
  private readonly patienceMs: number;

  /** @param origins the origins of the processes, such as `http://127.0.0.1:3000` */
  constructor(
    private readonly origins: readonly string[],
    { patienceMs = PATIENCE_MS }: HttpSenderOptions = {},
  ) {
    this.patienceMs = patienceMs;
  }

  readonly send = async (request: RiderRequest, pod: number): Promise<Answer> => {
    const leaving = new AbortController();
    const { signal } = leaving;
    // The agent aborts a request only when its connection is open, and a busy server may let it wait for that.
    const left = new Promise<Answer>((resolve) => {
      signal.addEventListener('abort', () => resolve({ status: 0 }), { once: true });
    });
    const patience = setTimeout(() => leaving.abort(), this.patienceMs);
    try {
      return await Promise.race([this.answerTo(request, pod, signal), left]);
    } catch (error) {
      if (leaving.signal.aborted) return { status: 0 };
      throw error;
    } finally {
      clearTimeout(patience);
    }
  };

  private async answerTo(request: RiderRequest, pod: number, signal: AbortSignal): Promise<Answer> {
    const { method, path, body } = REQUESTS[request.route](request);
    const response = await this.agent.request({
      origin: this.origins[pod]!,
      method,
      path,
      headers: { 'x-user-id': request.riderId, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      signal,
    });
    const text = await response.body.text();
    return { status: response.statusCode, ...read(response.statusCode, request.route, text) };
  }

  /** Aborts open requests. */
  async close(): Promise<void> {
    await this.agent.destroy();
  }
}

interface RejectedBody {
  readonly policy: string;
  /** Null: the request takes more than its limit ever allows. */
  readonly retry_after_ms?: number | null;
}

/** Parses only the bodies that matter, since parsing all of them would slow the generator down. */
function read(status: number, route: Route, text: string): Omit<Answer, 'status'> {
  if (status === 200 && route === 'rides') {
    const { driver } = JSON.parse(text) as { driver?: { driver_id: string } };
    return driver ? { driverId: driver.driver_id } : {};
  }
  if (status !== 429) return {};
  const { policy, retry_after_ms: retryAfterMs } = JSON.parse(text) as RejectedBody;
  return { policy, ...(typeof retryAfterMs === 'number' && { retryAfterMs }) };
}

function itinerary({ pickup, dropoff }: RiderRequest): object {
  return { pickup_lat: pickup.lat, pickup_lng: pickup.lng, dropoff_lat: dropoff.lat, dropoff_lng: dropoff.lng };
}
