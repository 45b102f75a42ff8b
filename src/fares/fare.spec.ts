import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { fareFor } from './fare.js';

describe('fareFor', () => {
  it.each([
    { metres: 0, surge: 1, cents: 800, why: 'the minimum' },
    { metres: 2857, surge: 1, cents: 800, why: '799.975: still the minimum' },
    { metres: 2858, surge: 1, cents: 800, why: '800.15' },
    { metres: 2860, surge: 1, cents: 801, why: '800.5: half up' },
    { metres: 10_000, surge: 1, cents: 2050, why: '300 + 10 x 175' },
    { metres: 10_000, surge: 1.15, cents: 2358, why: '2357.5: half up, although 1.15 x 2050 is less in doubles' },
    { metres: 10_000, surge: 2.5, cents: 5125, why: '2.5 x 2050' },
    { metres: 0, surge: 5, cents: 4000, why: 'the surge applies to the minimum, too' },
    { metres: 20_015_115, surge: 5, cents: 17_514_726, why: 'to the other side of the world' },
  ])('$metres m at $surge: $cents cents ($why)', ({ metres, surge, cents }) => {
    expect(fareFor(metres, surge)).toEqual({ amount_cents: cents, currency: 'USD' });
  });

  it('equals exact arithmetic for every distance on earth and every surge factor', () => {
    fc.assert(
      fc.property(fc.nat(20_040_000), fc.integer({ min: 100, max: 500 }), (metres, hundredths) => {
        const base = 300_000n + 175n * BigInt(metres);
        const exact = (base > 800_000n ? base : 800_000n) * BigInt(hundredths);
        expect(BigInt(fareFor(metres, hundredths / 100).amount_cents)).toBe((exact + 50_000n) / 100_000n);
      }),
      { numRuns: 1_000 },
    );
  });
});
