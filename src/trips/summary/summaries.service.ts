import { Injectable, NotFoundException } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { RateLimiter, RateLimitExceededException, type Reservation } from 'nestjs-floodgate';
import type { Configuration } from '../../config/configuration.js';
import { MODEL_CALLS, MODEL_WAIT_MS, SUMMARY_ESTIMATE, SUMMARY_TOKENS } from '../../limits/policies.js';
import { TripLog } from '../trip-log.js';
import type { Trip } from '../trip.js';
import { type Completion, LanguageModel, type Usage } from './language-model.js';

/** The log keeps a bounded number of a rider's trips. */
const EVERY = Number.MAX_SAFE_INTEGER;

export interface Summary {
  readonly tripId: string;
  readonly text: string;
  readonly usage: Usage;
}

/** Has a language model write about trips. */
@Injectable()
export class SummariesService {
  constructor(
    private readonly trips: TripLog,
    private readonly model: LanguageModel,
    private readonly limiter: RateLimiter,
    private readonly config: ConfigService<Configuration, true>,
  ) {}

  /**
   * @throws NotFoundException for a trip that is not one of the rider's finished ones
   * @throws ModelUnavailableError
   */
  async one(riderId: string, tripId: string): Promise<Summary> {
    const [trip] = await this.tripsOf(riderId, [tripId]);
    return this.write(trip!);
  }

  /**
   * The summaries of several trips, whose tokens come out of the rider's budget together. What the model has written is paid for,
   * also where it fails on a later trip.
   *
   * @throws RateLimitExceededException where the budget does not have the estimate
   * @throws as `one` does
   */
  async several(riderId: string, tripIds: readonly string[]): Promise<Summary[]> {
    const trips = await this.tripsOf(riderId, tripIds);
    const reservation = await this.reserve(riderId, SUMMARY_ESTIMATE * trips.length);
    const summaries: Summary[] = [];
    try {
      for (const trip of trips) summaries.push(await this.write(trip));
      return summaries;
    } finally {
      await reservation?.settle(summaries.reduce((sum, { usage }) => sum + usage.total_tokens, 0));
    }
  }

  /** Undefined with `RATE_LIMIT=off`. */
  private async reserve(riderId: string, cost: number): Promise<Reservation | undefined> {
    if (!this.isLimited) return undefined;
    const rider = { kind: 'user', value: riderId };
    const reservation = await this.limiter.reserve(SUMMARY_TOKENS, rider, {
      cost,
      // Of a pod that dies meanwhile: no summary of it has reached the rider.
      expires: '2m',
      atExpiry: 'cancel',
    });
    if (!reservation.allowed) throw new RateLimitExceededException(reservation.decision);
    return reservation;
  }

  private async tripsOf(riderId: string, tripIds: readonly string[]): Promise<Trip[]> {
    const ridden = new Map((await this.trips.ridden(riderId, EVERY)).map((trip) => [trip.id, trip]));
    return tripIds.map((id) => {
      const trip = ridden.get(id);
      if (trip === undefined) throw new NotFoundException(`there is no finished trip ${id} of this rider`);
      return trip;
    });
  }

  private async write(trip: Trip): Promise<Summary> {
    const { text, usage } = await this.complete(promptOf(trip));
    return { tripId: trip.id, text, usage };
  }

  /** Calls the model in its turn: its vendor counts the calls of all pods. */
  private async complete(prompt: string): Promise<Completion> {
    const call = async (): Promise<Completion> => this.model.complete(prompt);
    return this.isLimited ? this.limiter.schedule(MODEL_CALLS, call, { maxWait: MODEL_WAIT_MS }) : call();
  }

  private get isLimited(): boolean {
    return this.config.get('rateLimit', { infer: true }) !== 'off';
  }
}

function promptOf({ metres, fare, pickup, dropoff }: Trip): string {
  return (
    `Write to a rider about their trip: ${metres} m from ${pickup.lat}, ${pickup.lng} to ` +
    `${dropoff.lat}, ${dropoff.lng} for ${fare.amount_cents} cents. Be warm, be brief, and invent no names.`
  );
}
