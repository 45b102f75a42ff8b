import { Controller, Get } from '@nestjs/common';
import { SkipRateLimit } from 'nestjs-floodgate';

@Controller('healthz')
export class HealthController {
  /** Asked by the platform every few seconds: a refusal would take a healthy process out of service. */
  @Get()
  @SkipRateLimit()
  check(): { status: 'ok' } {
    return { status: 'ok' };
  }
}
