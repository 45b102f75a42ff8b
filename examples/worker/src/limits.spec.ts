import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Test, type TestingModule } from '@nestjs/testing';
import { overrideRateLimitStore, VirtualClock } from 'nestjs-floodgate/testing';
import { AppModule } from './app.module.js';
import { MailWorker } from './mail.worker.js';

let module: TestingModule;

before(async () => {
  // The limits run on a virtual clock in the process: no Redis. The clock stands still, so no token comes back.
  module = await overrideRateLimitStore(
    Test.createTestingModule({ imports: [AppModule] }),
    new VirtualClock(),
  ).compile();
});
after(() => module.close());

test('a tenant reaches three recipients at once, and its next mail waits', async () => {
  const worker = module.get(MailWorker);
  worker.add(
    { tenant: 'acme', recipients: ['ada'] },
    { tenant: 'acme', recipients: ['bob', 'cem'] },
    { tenant: 'acme', recipients: ['dan'] },
    { tenant: 'globex', recipients: ['eve', 'fay'] },
  );
  await worker.sendDue();
  assert.equal(worker.waiting, 1);
});
