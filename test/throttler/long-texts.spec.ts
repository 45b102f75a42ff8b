import { expect, it } from '@jest/globals';
import { ThrottlerStorageService } from 'nestjs-floodgate/throttler';

it.each([100, 20_000, 2_000_000])('a key of %i characters is counted for itself, and soon', async (length) => {
  const storage = new ThrottlerStorageService();
  const keys = ['a', 'é', '€'].map((letter) => letter.repeat(length));
  const since = performance.now();
  for (const key of keys) {
    expect(await storage.increment(key, 60_000, 2, 0, 'default')).toMatchObject({ totalHits: 1 });
    expect(await storage.increment(`${key}a`, 60_000, 2, 0, 'default')).toMatchObject({ totalHits: 1 });
    expect(await storage.increment(key, 60_000, 2, 0, 'default')).toMatchObject({ totalHits: 2 });
  }
  expect(performance.now() - since).toBeLessThan(1500);
});

it('a name of a throttler is bounded, and the message is, too', async () => {
  const storage = new ThrottlerStorageService();
  const asked = storage.increment('key', 60_000, 2, 0, 'x'.repeat(95_000));
  await expect(asked).rejects.toThrow(/^throttler 'x{57}\.\.\.': name must be 1 to 56 printable characters/);
});
