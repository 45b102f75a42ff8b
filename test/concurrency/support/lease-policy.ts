import type { ConcurrencyPolicy } from 'nestjs-floodgate';

export const LEASE_MS = 2_000;

/** What the processes of the test of leases share. */
export const POLICY: ConcurrencyPolicy = {
  name: 'work',
  algorithm: 'concurrency',
  limit: 5,
  lease: LEASE_MS,
  by: 'global',
  scope: 'app',
};
