import type { Type } from '@nestjs/common';
import { expect } from '@jest/globals';
import { withLimiter } from '../support/serve.js';

interface Events {
  take(tenant: string, events: readonly number[]): number[];
}

export async function check(_: unknown, { Events }: { Events: Type<Events> }): Promise<void> {
  await using app = await withLimiter({}, { providers: [Events] });
  const numbers = Array.from({ length: 2_000 }, (__, i) => i);
  const taken = app.app.get(Events).take('acme', numbers);
  expect(taken.slice(0, 1_000)).toEqual(numbers.slice(0, 1_000));
  expect(taken.length).toBeLessThan(2_000);
}
