import { Controller, Get, Module, Post } from '@nestjs/common';
import { ipIdentity, RateLimit, RateLimitModule, type RateLimitRequest } from 'nestjs-floodgate';

/** Stands for your database: the plan of each API key. */
const PLANS: ReadonlyMap<string, string> = new Map([
  ['key-of-ada', 'pro'],
  ['key-of-bob', 'free'],
]);

type ApiRequest = RateLimitRequest<{ headers: { 'x-api-key'?: string } }>;

const keyOf = ({ headers }: ApiRequest): string => headers['x-api-key'] ?? '';

@Controller()
export class ReportsController {
  // The numbers of the client's plan: 50 at once with 'pro', 5 at once with any other plan.
  @Get('reports')
  @RateLimit({
    name: 'api',
    algorithm: 'token-bucket',
    capacity: 5,
    refill: '1/s',
    plans: { pro: { capacity: 50, refill: '10/s' } },
  })
  reports(): string[] {
    return ['a report'];
  }

  // A slow service: one request leaves every 100 ms, for all clients together. 20 may wait, and the next one gets a 429.
  @Post('invoices')
  @RateLimit({ name: 'renderer', algorithm: 'leaky-bucket', capacity: 20, drain: '10/s', by: 'global' })
  invoice(): string {
    return 'rendered';
  }
}

@Module({
  imports: [
    RateLimitModule.forRoot({
      // With REDIS_URL all processes share the limits. Without it, each process counts for itself.
      redis: process.env.REDIS_URL,
      // A key that does not exist is no identity: otherwise each invented key would get a bucket of its own.
      identity: [
        { kind: 'api-key', resolve: (request: ApiRequest) => (PLANS.has(keyOf(request)) ? keyOf(request) : undefined) },
        ipIdentity(),
      ],
      plan: { resolve: (request: ApiRequest) => PLANS.get(keyOf(request)) },
    }),
  ],
  controllers: [ReportsController],
})
export class AppModule {}
