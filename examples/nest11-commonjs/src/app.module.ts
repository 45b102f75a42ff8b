import { Body, Controller, Get, HttpCode, Module, Post, UnauthorizedException } from '@nestjs/common';
import { RateLimit, RateLimitModule, type RateLimitRequest } from 'nestjs-floodgate';

interface Credentials {
  email: string;
  password: string;
}

@Controller()
export class AppController {
  // A burst of 20 from one address, then 100 an hour.
  @Get('search')
  @RateLimit({ algorithm: 'token-bucket', capacity: 20, refill: '100/h' })
  search(): string[] {
    return ['a result'];
  }

  // Five guesses for an account in 15 minutes, and 30 from one address: both in one step.
  @Post('login')
  @HttpCode(200)
  @RateLimit(
    { name: 'login-address', algorithm: 'sliding-window-counter', limit: 30, window: '15m', by: 'ip' },
    {
      name: 'login-account',
      algorithm: 'sliding-window-log',
      limit: 5,
      window: '15m',
      // Guards run before pipes: nobody has checked the body yet.
      by: ({ body }: RateLimitRequest<{ body?: { email?: unknown } }>) => ({
        kind: 'account',
        value: typeof body?.email === 'string' ? body.email.toLowerCase() : '',
      }),
    },
  )
  login(@Body() { email, password }: Credentials): string {
    if (password !== 'open sesame') throw new UnauthorizedException();
    return `a session for ${email}`;
  }
}

@Module({
  // With REDIS_URL all processes share the limits. Without it, each process counts for itself.
  imports: [RateLimitModule.forRoot({ redis: process.env.REDIS_URL })],
  controllers: [AppController],
})
export class AppModule {}
