import { expect } from '@jest/globals';
import type { RateLimitStore } from 'nestjs-floodgate';
import { rateLimitStoreConformance, type StoreSettings } from 'nestjs-floodgate/testing';

interface Table {
  read(key: string): Promise<unknown>;
  write(key: string, state: unknown): Promise<void>;
  transaction<T>(work: () => Promise<T>): Promise<T>;
}

/** Without a transaction, the cases of concurrent requests fail, and no others. */
export async function check(
  _: unknown,
  { TableStore }: { TableStore: new (table: Table, settings: StoreSettings) => RateLimitStore },
): Promise<void> {
  const open = (settings: StoreSettings): RateLimitStore => {
    const rows = new Map<string, unknown>();
    const read = async (key: string): Promise<unknown> => structuredClone(rows.get(key));
    const write = async (key: string, state: unknown): Promise<void> => void rows.set(key, structuredClone(state));
    return new TableStore({ read, write, transaction: (work) => work() }, settings);
  };
  const failed: string[] = [];
  for (const { name, run } of rateLimitStoreConformance({ name: 'racing', open })) {
    await run().catch(() => failed.push(name));
  }
  expect(failed.length).toBeGreaterThanOrEqual(6);
  expect(failed.filter((name) => !name.startsWith('concurrent requests: '))).toEqual([]);
}
