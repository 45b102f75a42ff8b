import { setMaxListeners } from 'node:events';
import { BadRequestException, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Agent } from 'undici';
import type { TrialResult } from './live.js';
import { ownOrigin } from './own-origin.js';
import { RoomApplication, type RoomLane } from './room-application.js';

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

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly application: RoomApplication,
  ) {}

  /** @throws BadRequestException for a lane or a rider that the page does not have */
  assertKnown(lane: string, rider: string): void {
    const { lanes, riders } = this.application;
    const ids = lanes.map(({ id }) => id);
    if (!ids.includes(lane)) throw new BadRequestException([`lane must be one of ${ids.join(', ')}`]);
    if (!riders.includes(rider)) throw new BadRequestException([`rider must be one of ${riders.join(', ')}`]);
  }

  /**
   * @param signal aborts the requests that have no answer yet
   * @throws ConflictException when this process does not listen on a TCP port
   */
  async send(id: string, rider: string, many: boolean, signal: AbortSignal): Promise<TrialResult> {
    const lane = this.application.lanes.find((one) => one.id === id)!;
    const { more } = lane.sample;
    const origin = ownOrigin(this.adapterHost);
    setMaxListeners(more, signal); // Node.js takes more than ten for a leak
    const since = performance.now();
    const answers = await Promise.all(
      Array.from({ length: many ? more : 1 }, () => this.ask(origin, lane, rider, many, signal)),
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
    { method, sample: { path, body, moreBody } }: RoomLane,
    rider: string,
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
