import type { Type } from '@nestjs/common';
import { expect } from '@jest/globals';
import { withLimiter } from '../support/serve.js';

interface Mailer {
  send(userId: string, recipients: string[]): Promise<boolean>;
}

export async function check(_: unknown, { Mailer }: { Mailer: Type<Mailer> }): Promise<void> {
  await using app = await withLimiter({}, { providers: [Mailer] });
  const mailer = app.app.get(Mailer);
  expect([await mailer.send('ada', Array(99).fill('')), await mailer.send('ada', ['', ''])]).toEqual([true, false]);
}
