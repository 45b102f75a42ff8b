import { strictEqual } from 'node:assert';
import { Controller, Get, Module } from '@nestjs/common';
import { RateLimit, RateLimitModule } from 'nestjs-floodgate';
import {
  expectLimit,
  type RecordedDecisions,
  recordDecisions,
  VirtualClock,
  VirtualStore,
} from 'nestjs-floodgate/testing';
import { create } from './platform.js';

@Controller()
class QuotaController {
  @Get('quota')
  @RateLimit({ name: 'quota', algorithm: 'fixed-window', limit: 3, window: '24h' })
  quota() {
    return { served: true };
  }
}

@Module({
  imports: [RateLimitModule.forRoot({ store: new VirtualStore(new VirtualClock()) })],
  controllers: [QuotaController],
})
class QuotaModule {}

/** Lets a quota of 24 hours begin anew on a virtual clock. */
export async function useTesting(): Promise<void> {
  const app = await create(QuotaModule);
  try {
    const decisions: RecordedDecisions = recordDecisions(app);
    await expectLimit(app).get('/quota').toAdmit(3).per('24h');
    strictEqual(decisions.last?.decision.policies[0]?.policy, 'quota');
  } finally {
    await app.close();
  }
}
