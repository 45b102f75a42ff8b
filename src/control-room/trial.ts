import { setMaxListeners } from 'node:events';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Agent } from 'undici';
import { zoneOf } from '../geo/zone.js';
import { CENTER } from '../geo/position.js';
import type { TrialResult } from './live.js';
import { ownOrigin } from './own-origin.js';
import type { RoomRider } from './riders.js';

/** The request of a lane's buttons. The second button sends `more` of them at once, which shows the limit. */
interface Sample {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: (rider: RoomRider) => string;
  readonly body?: (rider: RoomRider) => object;
  readonly more: number;
  /** The body for the second button, if it differs. */
  readonly moreBody?: () => object;
}

const ITINERARY = { pickup_lat: CENTER.lat, pickup_lng: CENTER.lng, dropoff_lat: 40.7484, dropoff_lng: -73.9857 };

export const SAMPLES = {
  rides: {
    method: 'POST',
    path: () => '/api/rides/request',
    body: (rider) => ({ rider_id: rider, ...ITINERARY }),
    more: 30,
  },
  fares: { method: 'POST', path: () => '/api/fares/estimate', body: () => ITINERARY, more: 30 },
  nearby: {
    method: 'GET',
    path: () => `/api/drivers/nearby?lat=${CENTER.lat}&lng=${CENTER.lng}&radius_km=1`,
    more: 40,
  },
  location: {
    method: 'POST',
    path: () => '/api/drivers/location',
    body: () => positions(30),
    more: 6,
    moreBody: () => positions(500),
  },
  history: { method: 'GET', path: (rider) => `/api/trips/history?rider_id=${rider}`, more: 10 },
  stats: { method: 'GET', path: () => '/api/admin/zones/stats?limit=1', more: 20 },
  // The default factor, so that no fare changes.
  surge: {
    method: 'PUT',
    path: () => `/api/admin/zones/${zoneOf(CENTER)}/surge`,
    body: () => ({ factor: 1 }),
    more: 3,
  },
} as const satisfies Record<string, Sample>;

export type LaneId = keyof typeof SAMPLES;

const SHOWN_HEADERS = /^(x-ratelimit-.*|retry-after)$/;
const SHOWN_TEXT = 400;

/**
 * Sends requests to this process over HTTP, like any client.
 *
 * The page does not send them itself: a browser has six connections per host and logs every 429 to its console.
 */
@Injectable()
export class Trial implements OnModuleDestroy {
  private readonly agent = new Agent({ connections: null });

  constructor(private readonly adapterHost: HttpAdapterHost) {}

  /**
   * @param signal aborts the requests that have no answer yet
   * @throws ConflictException when this process does not listen on a TCP port
   */
  async send(lane: LaneId, rider: RoomRider, many: boolean, signal: AbortSignal): Promise<TrialResult> {
    const sample: Sample = SAMPLES[lane];
    const origin = ownOrigin(this.adapterHost);
    setMaxListeners(sample.more, signal); // Node.js takes more than ten for a leak
    const since = performance.now();
    const answers = await Promise.all(
      Array.from({ length: many ? sample.more : 1 }, () => this.ask(origin, sample, rider, many, signal)),
    );
    const statuses: Record<string, number> = {};
    const refusals: Record<string, number> = {};
    for (const { status, policy } of answers) {
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (policy !== null) refusals[policy] = (refusals[policy] ?? 0) + 1;
    }
    // Of several answers the 429 is the interesting one.
    const answer = answers.find(({ status }) => status === 429) ?? answers.at(-1)!;
    return { statuses, refusals, answer, tookMs: Math.round(performance.now() - since) };
  }

  /** Aborts open requests, so that the server does not wait for them. */
  async onModuleDestroy(): Promise<void> {
    await this.agent.destroy();
  }

  private async ask(
    origin: string,
    { method, path, body, moreBody }: Sample,
    rider: RoomRider,
    many: boolean,
    signal: AbortSignal,
  ): Promise<TrialAnswer> {
    const sent = ((many ? moreBody : undefined) ?? body)?.(rider);
    const response = await this.agent.request({
      origin,
      method,
      path: path(rider),
      signal,
      headers: { 'x-user-id': rider, ...(sent && { 'content-type': 'application/json' }) },
      ...(sent && { body: JSON.stringify(sent) }),
    });
    const text = await response.body.text();
    const headers = Object.entries(response.headers).flatMap(([name, value]) =>
      SHOWN_HEADERS.test(name) ? [[name, String(value)] as const] : [],
    );
    return {
      status: response.statusCode,
      headers: Object.fromEntries(headers),
      text: text.slice(0, SHOWN_TEXT),
      ...refusalIn(response.statusCode, text),
      resetAfterMs: resetAfter(response.headers['x-ratelimit-reset'], Date.now()),
    };
  }
}

type TrialAnswer = TrialResult['answer'];

/** What the body of a 429 says. A 429 that is not a limiter's, such as a proxy's, has another one. */
export function refusalIn(status: number, text: string): Pick<TrialAnswer, 'policy' | 'retryAfterMs'> {
  const none = { policy: null, retryAfterMs: null };
  if (status !== 429) return none;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return none;
  }
  const { policy, retry_after_ms: retryAfterMs } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof policy !== 'string') return none;
  return { policy, retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : null };
}

/** @param header Unix seconds */
export function resetAfter(header: string | string[] | undefined, nowMs: number): number | null {
  const seconds = typeof header === 'string' && /^\d+$/.test(header) ? Number(header) : null;
  return seconds === null ? null : Math.max(0, seconds * 1000 - nowMs);
}

/** Positions of drivers around the garden, as a phone without a connection buffers them. */
function positions(count: number): object[] {
  return Array.from({ length: count }, (_, i) => ({
    driver_id: `control-room-${(i % 30) + 1}`,
    lat: CENTER.lat + 0.0002 * (i % 30),
    lng: CENTER.lng,
  }));
}
