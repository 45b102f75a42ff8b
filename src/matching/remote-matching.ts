import { ConflictException, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { errors, Pool } from 'undici';
import type { MatchingConfiguration } from '../config/configuration.js';
import type { DriverPosition, NearbyDriver } from './drivers/driver-index.js';
import type { Position } from '../geo/position.js';
import type { MatchingStatistics } from './matching-statistics.js';
import { type Match, Matching, MatchingUnavailableError, UNAVAILABILITIES, type ZoneSupply } from './matching.js';

/** The time for the network on a bad day, added to the time that the service may take. */
const ON_THE_WAY_MS = 1000;

type Method = 'GET' | 'POST' | 'PUT';

interface Sent {
  readonly body?: unknown;
  /** Aborted when the rider has left. */
  readonly gone?: AbortSignal | undefined;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/**
 * Asks the matching service over connections that stay open, one for each open request.
 *
 * Requests wait in the service's queue, which bounds their number and their wait, and never in a second queue here. No request
 * is sent twice, since the service may have made a match whose answer was lost. With `MATCHING_CANCEL` the connection of a rider's
 * request is closed when the rider has left, so that the service sees its client leave and its queue loses the request, too.
 */
export class RemoteMatching extends Matching implements OnApplicationShutdown {
  private readonly logger = new Logger('Matching');
  private readonly pool: Pool;
  /** The path of the service's URL, which precedes its routes. */
  private readonly base: string;
  /** The longest that the service may take for a request that needs a worker. */
  private readonly workMs: number;
  private readonly cancels: boolean;
  private unavailable = false;

  constructor(
    url: string,
    { patienceMs, serviceMs, cancels }: Pick<MatchingConfiguration, 'patienceMs' | 'serviceMs' | 'cancels'>,
  ) {
    super();
    this.cancels = cancels;
    const { origin, pathname } = new URL(url);
    this.workMs = patienceMs + serviceMs;
    this.base = pathname.replace(/\/+$/, '');
    this.pool = new Pool(origin, { connect: { timeout: ON_THE_WAY_MS } });
  }

  async match(pickup: Position, gone?: AbortSignal): Promise<Match | undefined> {
    const { match } = await this.ask<{ match: Match | null }>('POST', '/matches', this.workMs, { body: pickup, gone });
    return match ?? undefined;
  }

  nearby({ lat, lng }: Position, radiusKm: number, limit: number, gone?: AbortSignal): Promise<NearbyDriver[]> {
    const query = `lat=${lat}&lng=${lng}&radius_km=${radiusKm}&limit=${limit}`;
    return this.ask('GET', `/drivers/nearby?${query}`, this.workMs, { gone });
  }

  async surgeFactor(zone: string, gone?: AbortSignal): Promise<number> {
    const { factor } = await this.ask<{ factor: number }>('GET', `/zones/${zone}/surge`, this.workMs, { gone });
    return factor;
  }

  async report(positions: readonly DriverPosition[]): Promise<void> {
    const batch = positions.map(({ driverId, ...position }) => ({ driver_id: driverId, ...position }));
    await this.ask('POST', '/drivers/positions', 0, { body: batch });
  }

  async setSurgeFactor(zone: string, factor: number): Promise<void> {
    await this.ask('PUT', `/zones/${zone}/surge`, 0, { body: { factor } });
  }

  zones(): Promise<ZoneSupply[]> {
    return this.ask('GET', '/zones', 0);
  }

  statistics(): Promise<MatchingStatistics> {
    return this.ask('GET', '/statistics', 0);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pool.destroy();
  }

  /** @param takesMs the longest that the service may take */
  private async ask<T>(method: Method, path: string, takesMs: number, sent: Sent = {}): Promise<T> {
    const { status, text } = await this.send(method, path, takesMs + ON_THE_WAY_MS, sent);
    const answer = parse(text);
    if (status < 300 && answer !== undefined) return answer as T;
    if (status === 409) throw new ConflictException(answer?.message);
    if (status >= 500) {
      const reasons = UNAVAILABILITIES.map((reason) => new MatchingUnavailableError(reason));
      // A proxy in front of the service may answer with a 5xx of its own.
      throw reasons.find(({ message }) => message === answer?.message) ?? this.lost(`it answered ${status}`);
    }
    throw new Error(`the matching service answered ${status} to ${method} ${path}: ${text.slice(0, 200)}`);
  }

  private async send(method: Method, path: string, timeoutMs: number, { body, gone: left }: Sent): Promise<Answer> {
    const gone = this.cancels ? left : undefined;
    try {
      const response = await this.pool.request({
        method,
        path: this.base + path,
        ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
        ...(gone !== undefined && { signal: gone }),
      });
      const text = await response.body.text();
      if (this.unavailable) this.logger.log('The matching service is available again');
      this.unavailable = false;
      return { status: response.statusCode, text };
    } catch (error) {
      gone?.throwIfAborted();
      throw this.lost((error as Error).message, error);
    }
  }

  /** Logs the first failure only, however many requests follow. */
  private lost(reason: string, cause?: unknown): MatchingUnavailableError {
    if (!this.unavailable) this.logger.warn(`The matching service is unavailable: ${reason}`);
    this.unavailable = true;
    const late = cause instanceof errors.HeadersTimeoutError || cause instanceof errors.BodyTimeoutError;
    return new MatchingUnavailableError(late ? 'no answer in time' : 'out of reach', { cause });
  }
}

/** Parses the text; undefined unless it is a JSON object. */
function parse(text: string): { readonly message?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
