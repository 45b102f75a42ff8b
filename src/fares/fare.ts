/** An amount of money in whole cents. */
export interface Fare {
  readonly amount_cents: number;
  readonly currency: 'USD';
}

const BASE_CENTS = 300;
const CENTS_PER_KM = 175;
const MINIMUM_CENTS = 800;

/**
 * The fare: base plus distance, at least the minimum, times the surge factor, rounded half up once at the end.
 *
 * Metres and hundredths of a factor keep all values whole and far below 2^53, so no fare depends on a rounded fraction.
 */
export function fareFor(metres: number, surgeFactor: number): Fare {
  const thousandths = Math.max(BASE_CENTS * 1000 + CENTS_PER_KM * metres, MINIMUM_CENTS * 1000);
  const hundredThousandths = thousandths * Math.round(surgeFactor * 100);
  return { amount_cents: Math.floor((hundredThousandths + 50_000) / 100_000), currency: 'USD' };
}
