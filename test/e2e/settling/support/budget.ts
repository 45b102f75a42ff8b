import type { Outcome, Policy } from 'nestjs-floodgate';

export const EXPIRES_MS = 400;
export const COST = 2_000;
const MONTH = { algorithm: 'fixed-window', limit: 10_000, window: '300d', by: 'user', scope: 'app' } as const;

/** Budgets whose requests expire after some milliseconds. */
export function expiringIn(expires: number) {
  const settle = ({ value }: Outcome): number => (value as { tokens: number }).tokens;
  const settled = { cost: COST, settle, expires };
  return {
    budget: { ...MONTH, ...settled, atExpiry: 'cancel' },
    partly: { ...MONTH, ...settled, atExpiry: 500 },
    full: { ...MONTH, ...settled, limit: COST, atExpiry: 'cancel', else: 'credits' },
    credits: MONTH,
    counted: { ...MONTH, cost: 10, countIf: ({ status }) => status === 200, expires, atExpiry: 0 },
  } as const satisfies Record<string, Policy>;
}

export const POLICIES = expiringIn(EXPIRES_MS);
