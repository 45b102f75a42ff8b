/** A payment that the provider has taken. */
export interface Payment {
  readonly id: string;
  readonly amountCents: number;
}

/** Takes payments, and counts the calls of all of our processes together. */
export abstract class PaymentProvider {
  /** @param key the provider takes one payment for each key, however often it is asked */
  abstract charge(key: string, riderId: string, amountCents: number): Promise<Payment>;
}
