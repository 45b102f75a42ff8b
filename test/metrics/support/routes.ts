import { Get } from '@nestjs/common';
import { type Policy, RateLimit } from 'nestjs-floodgate';

export const THREE = { name: 'three', algorithm: 'token-bucket', capacity: 3, refill: '1/h' } as const satisfies Policy;
const TWO: Policy = { name: 'two', algorithm: 'fixed-window', limit: 2, window: '300d', by: 'global' };
export const ADA = { kind: 'user', value: 'ada' };

/** Routes of one policy and of two. */
export class Limited {
  @Get('three')
  @RateLimit(THREE)
  three(): void {}

  @Get('both')
  @RateLimit(THREE, TWO)
  both(): void {}
}
