import { Injectable, NotFoundException } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { type Decision, RateLimiter, RateLimitExceededException } from 'nestjs-floodgate';
import { type LimitedModel, limitModel } from 'nestjs-floodgate/llm';
import type { Configuration } from '../../config/configuration.js';
import { MODEL_CALLS, MODEL_LIMITS, MODEL_WAIT_MS } from '../../limits/policies.js';
import { TripLog } from '../trip-log.js';
import type { Trip } from '../trip.js';
import { type ChatRequest, LanguageModel, ModelUnavailableError } from './language-model.js';

/** The log keeps a bounded number of a rider's trips. */
const EVERY = Number.MAX_SAFE_INTEGER;
/** The most that the model may write about a trip. */
const MAX_TOKENS = 300;

export interface Summary {
  /** The events of the model's answer, as bytes. */
  readonly events: ReadableStream<Uint8Array>;
  /** What the budgets have left. Undefined with `RATE_LIMIT=off`. */
  readonly decision: Decision | undefined;
}

/** Has language models write about trips. */
@Injectable()
export class SummariesService {
  private readonly chat: LimitedModel;

  constructor(
    private readonly trips: TripLog,
    private readonly model: LanguageModel,
    private readonly limiter: RateLimiter,
    private readonly config: ConfigService<Configuration, true>,
  ) {
    this.chat = limitModel(limiter, (request) => MODEL_LIMITS[(request as ChatRequest).model]!);
  }

  /**
   * The rider's budget and the model's are charged an estimate, and in the end what the model has used. A rider who leaves pays for
   * what was written until then.
   *
   * @param gone aborted when the rider has left
   * @throws NotFoundException for a trip that is not one of the rider's finished ones
   * @throws RateLimitExceededException where one of the budgets does not have the estimate
   * @throws ModelUnavailableError
   */
  async write(riderId: string, tripIds: readonly string[], gone: AbortSignal): Promise<Summary> {
    const request = requestOf(await this.tripsOf(riderId, tripIds));
    const send = async (): Promise<Response> => this.model.chat(request, gone);
    if (this.config.get('rateLimit', { infer: true }) === 'off') {
      return { events: eventsOf(await send()), decision: undefined };
    }
    const call = await this.chat(
      { kind: 'user', value: riderId },
      request,
      // The vendor counts the calls of all pods: each waits for its turn.
      async () => this.limiter.schedule(MODEL_CALLS, send, { signal: gone, maxWait: MODEL_WAIT_MS }),
    );
    if (!call.allowed) throw new RateLimitExceededException(call.decision);
    return { events: eventsOf(call.answer), decision: call.decision };
  }

  private async tripsOf(riderId: string, tripIds: readonly string[]): Promise<Trip[]> {
    const ridden = new Map((await this.trips.ridden(riderId, EVERY)).map((trip) => [trip.id, trip]));
    return tripIds.map((id) => {
      const trip = ridden.get(id);
      if (trip === undefined) throw new NotFoundException(`there is no finished trip ${id} of this rider`);
      return trip;
    });
  }
}

function requestOf(trips: readonly Trip[]): ChatRequest {
  return {
    model: trips.length === 1 ? 'pretend-small' : 'pretend-large',
    max_tokens: MAX_TOKENS * trips.length,
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      {
        role: 'system',
        content: 'Write to a rider about each of their trips. Be warm, be brief, and invent no names.',
      },
      ...trips.map(({ metres, fare, pickup, dropoff }) => ({
        role: 'user' as const,
        content: `${metres} m from ${pickup.lat}, ${pickup.lng} to ${dropoff.lat}, ${dropoff.lng} for ${fare.amount_cents} cents`,
      })),
    ],
  };
}

/** @throws ModelUnavailableError */
function eventsOf({ ok, body, status }: Response): ReadableStream<Uint8Array> {
  if (!ok || body === null) throw new ModelUnavailableError(`the model answers with ${status}`);
  return body;
}
