import type { Type } from '@nestjs/common';
import { expect } from '@jest/globals';
import { withLimiter } from '../support/serve.js';

interface Inviter {
  invite(userId: string, recipients: string[]): Promise<boolean>;
}

export async function check(_: unknown, { Inviter }: { Inviter: Type<Inviter> }): Promise<void> {
  await using app = await withLimiter({}, { providers: [Inviter] });
  const inviter = app.app.get(Inviter);
  expect([await inviter.invite('ada', Array(99).fill('')), await inviter.invite('ada', ['', ''])]).toEqual([
    true,
    false,
  ]);
}
