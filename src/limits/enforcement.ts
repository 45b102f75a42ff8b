import { ConflictException, Injectable, Logger } from '@nestjs/common';
import { Configuration } from '../config/configuration.js';

/** Whether this process enforces its limits: the switch of the control room. What `RATE_LIMIT=off` says cannot be switched. */
@Injectable()
export class Enforcement {
  private readonly logger = new Logger('Limits');
  private enforced: boolean;

  constructor(private readonly configuration: Configuration) {
    this.enforced = this.switchable;
  }

  get on(): boolean {
    return this.enforced;
  }

  get switchable(): boolean {
    return this.configuration.rateLimit !== 'off';
  }

  /** @throws ConflictException in a process that was started without a limiter */
  set(on: boolean): void {
    if (on && !this.switchable) {
      throw new ConflictException('RATE_LIMIT is "off": this process was started without a limiter');
    }
    if (on !== this.enforced) this.logger.warn(on ? 'Limits are enforced again' : 'Limits are no longer enforced');
    this.enforced = on;
  }
}
