import { Controller, Get } from '@nestjs/common';
import { RateLimit } from 'nestjs-floodgate';

@Controller()
export class AppController {
  @Get('burst')
  @RateLimit({ name: 'burst', algorithm: 'token-bucket', capacity: 20, refill: '1/h' })
  burst() {
    return { served: true };
  }
}
