import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { RateLimitModule } from 'nestjs-floodgate';
import { MailWorker } from './mail.worker.js';

@Module({
  imports: [
    ScheduleModule.forRoot(),
    RateLimitModule.forRoot({
      // With REDIS_URL all workers share the limits. Without it, each worker counts for itself.
      redis: process.env.REDIS_URL,
      // Three recipients at once for each tenant, then one a second.
      policies: { mails: { algorithm: 'token-bucket', capacity: 3, refill: '1/s' } },
    }),
  ],
  providers: [MailWorker],
})
export class AppModule {}
