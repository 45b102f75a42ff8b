import { describe, expect, it } from '@jest/globals';
import { CallWaitError, LimiterUnavailableError } from 'nestjs-floodgate';
import { open, pass } from './support/scheduled-calls.js';

describe('without the store', () => {
  it("waits no longer than maxWait where the policy says 'closed', and names the failure", async () => {
    await using opened = await open({ onStoreFailure: 'closed' });
    const { clock, call, store, ran } = opened;
    store.fails = true;
    const lost = call('window', 'lost', { maxWait: 2_000 });
    const kept = call('window', 'kept', { maxWait: 60_000 });
    await expect(call('window', 'now', { maxWait: 0 })).rejects.toThrow(LimiterUnavailableError);
    await pass(clock, 2_000);
    const error = await lost.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CallWaitError);
    expect((error as Error).cause).toBeInstanceOf(LimiterUnavailableError);
    store.fails = false;
    await pass(clock, 2_000);
    expect(await kept).toBe('kept');
    expect(ran).toHaveLength(1);
  });
});
