import { Controller, Get, Module } from '@nestjs/common';
import { RateLimit, RateLimitModule } from 'nestjs-floodgate';
import { metrics } from './metrics.js';
import { redis } from './redis.js';

@Controller()
export class BurstController {
  @Get('burst')
  @RateLimit({ name: 'burst', algorithm: 'token-bucket', capacity: 20, refill: '1/h' })
  burst() {
    return { served: true };
  }

  @Get('each-second')
  @RateLimit({ name: 'each-second', algorithm: 'token-bucket', capacity: 1, refill: '1/s' })
  eachSecond() {
    return { served: true };
  }
}

@Module({
  // A machine that builds another application meanwhile may take long for the first answer of Redis.
  imports: [RateLimitModule.forRoot({ redis, deadline: '5s' }), ...metrics],
  controllers: [BurstController],
})
export class AppModule {}
