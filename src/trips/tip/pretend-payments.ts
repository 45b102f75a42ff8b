import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Pause } from '../../time/pause.js';
import { type Payment, PaymentProvider } from './payment-provider.js';

/** A tenth of what a real provider takes. */
const CHARGE_MS = 20;

/** Stands for a provider: no money moves, and a key gives the same payment in every process. */
@Injectable()
export class PretendPayments extends PaymentProvider {
  constructor(private readonly pause: Pause) {
    super();
  }

  async charge(key: string, riderId: string, amountCents: number): Promise<Payment> {
    await this.pause.wait(CHARGE_MS);
    const digest = createHash('sha256').update(`${riderId}\n${key}`).digest('hex');
    return { id: `pay-${digest.slice(0, 16)}`, amountCents };
  }
}
