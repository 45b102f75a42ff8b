import { Injectable } from '@nestjs/common';

/** What time it is. Injected, so that tests decide how fast trips end and drivers fall silent. */
export abstract class Clock {
  /** Milliseconds since the epoch. */
  abstract now(): number;
}

@Injectable()
export class SystemClock extends Clock {
  now(): number {
    return Date.now();
  }
}
