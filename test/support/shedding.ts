import { setTimeout as delay } from 'node:timers/promises';
import type { INestApplicationContext } from '@nestjs/common';
import { RateLimiter, type RateLimitStats, type ShedOptions } from 'nestjs-floodgate';

/** A threshold that the test moves, in place of one that is measured. */
export class Switch {
  over = true;

  /** The option `shed` of an application that is over its threshold from the start. */
  options(shed: Partial<ShedOptions> = {}): ShedOptions {
    return { classes: ['background', 'normal'], window: 100, check: () => this.over, ...shed };
  }
}

export function sheddingOf(app: INestApplicationContext): NonNullable<RateLimitStats['shedding']> {
  return app.get(RateLimiter).stats().shedding!;
}

/** Waits until the application sheds all requests of all classes that give way, or none. */
export async function untilLevel(app: INestApplicationContext, level: 0 | 1): Promise<void> {
  while (sheddingOf(app).level !== level) await delay(10);
}
