import { featureScenario } from './support.js';

const PLAIN = 'no countIf';
const KEPT = 'countIf, which refunds nothing';
const REFUNDED = 'countIf, which refunds each request';

const counted = ({ outcomes }) => outcomes;
/** Nobody's bucket ever lacks more than what is under way: without refunds it soon would. */
const isRefunded = (head) => Number(/\nx-ratelimit-remaining: (\d+)/i.exec(head)?.[1]) >= 999_990;

/** What a route pays for a `countIf`. All three have the same bucket, whose tokens take an hour to come back. */
export const countIf = featureScenario({
  title: 'countIf',
  http: {
    variants: [
      { name: PLAIN, variant: 'slow' },
      { name: KEPT, variant: 'counted', counted },
      { name: REFUNDED, variant: 'refunded', counted, isRight: isRefunded },
    ],
    base: PLAIN,
    prices: { countIf: REFUNDED, countIfKept: KEPT },
  },
});
