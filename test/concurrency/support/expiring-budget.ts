import type { FixedWindowPolicy, Identity } from 'nestjs-floodgate';

/** What the processes of the test of expiring reservations share. */
export const BUDGET: FixedWindowPolicy = {
  name: 'budget',
  algorithm: 'fixed-window',
  limit: 1_000_000,
  window: '300d',
};
export const ADA: Identity = { kind: 'user', value: 'ada' };
