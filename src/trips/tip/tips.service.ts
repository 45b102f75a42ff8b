import { Injectable, NotFoundException } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { RateLimiter } from 'nestjs-floodgate';
import type { Configuration } from '../../config/configuration.js';
import { PAYMENT_CALLS, PAYMENT_WAIT_MS } from '../../limits/policies.js';
import { TripLog } from '../trip-log.js';
import { type Payment, PaymentProvider } from './payment-provider.js';

/** The log keeps a bounded number of a rider's trips. */
const EVERY = Number.MAX_SAFE_INTEGER;

/** Takes tips for finished trips. */
@Injectable()
export class TipsService {
  constructor(
    private readonly trips: TripLog,
    private readonly payments: PaymentProvider,
    private readonly limiter: RateLimiter,
    private readonly config: ConfigService<Configuration, true>,
  ) {}

  /**
   * A trip has one tip: a repetition gets the same payment.
   *
   * @param gone aborted when the rider has left: a payment that has not had its turn is not taken
   * @throws NotFoundException for a trip that is not one of the rider's finished ones
   * @throws LimiterUnavailableError where the provider's turn does not come in time, which is a 503
   */
  async tip(riderId: string, tripId: string, amountCents: number, gone: AbortSignal): Promise<Payment> {
    const trips = await this.trips.ridden(riderId, EVERY);
    if (!trips.some(({ id }) => id === tripId)) {
      throw new NotFoundException(`there is no finished trip ${tripId} of this rider`);
    }
    const charge = async (): Promise<Payment> => this.payments.charge(`tip-${tripId}`, riderId, amountCents);
    if (this.config.get('rateLimit', { infer: true }) === 'off') return charge();
    return this.limiter.schedule(PAYMENT_CALLS, charge, { signal: gone, maxWait: PAYMENT_WAIT_MS });
  }
}
