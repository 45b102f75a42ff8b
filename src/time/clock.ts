import { Injectable } from '@nestjs/common';

/** The current time. Tests inject a clock of their own to end trips and to silence drivers. */
export abstract class Clock {
  /** Milliseconds since 1970. */
  abstract now(): number;
}

@Injectable()
export class SystemClock extends Clock {
  now(): number {
    return Date.now();
  }
}
