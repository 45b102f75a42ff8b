import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';

/** Lets time pass. Tests inject a pause of their own. */
export abstract class Pause {
  abstract wait(ms: number): Promise<void>;
}

@Injectable()
export class SystemPause extends Pause {
  async wait(ms: number): Promise<void> {
    await delay(ms);
  }
}
