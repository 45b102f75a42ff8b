import { Controller, Get, Header, Module } from '@nestjs/common';
import { RateLimit, RateLimitModule } from 'nestjs-floodgate';
import { PAGE } from './page.js';

@Controller()
export class AppController {
  @Get()
  @Header('content-type', 'text/html; charset=utf-8')
  page(): string {
    return PAGE;
  }

  // A burst of 20, then one a second. Change the numbers, and press again.
  @Get('search')
  @RateLimit({ algorithm: 'token-bucket', capacity: 20, refill: '1/s' })
  search(): string[] {
    return ['a result'];
  }

  // Two at once, however many come.
  @Get('export')
  @RateLimit({ name: 'exports', algorithm: 'concurrency', limit: 2, lease: '10s' })
  async export(): Promise<string> {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    return 'exported';
  }
}

@Module({
  // The counts are in this process: a sandbox in a browser has no Redis.
  imports: [RateLimitModule.forRoot()],
  controllers: [AppController],
})
export class AppModule {}
