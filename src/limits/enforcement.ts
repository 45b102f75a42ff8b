import { ConflictException, Injectable, Logger } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import type { Configuration } from '../config/configuration.js';

/** Whether this process enforces its limits. The control room switches it, unless `RATE_LIMIT=off`. */
@Injectable()
export class Enforcement {
  readonly switchable: boolean;
  private readonly logger = new Logger('Limits');
  private enforced: boolean;

  constructor(config: ConfigService<Configuration, true>) {
    this.switchable = config.get('rateLimit', { infer: true }) !== 'off';
    this.enforced = this.switchable;
  }

  get on(): boolean {
    return this.enforced;
  }

  /** @throws ConflictException when the process was started with `RATE_LIMIT=off` */
  set(on: boolean): void {
    if (on && !this.switchable) {
      throw new ConflictException(
        'RATE_LIMIT is "off", so this process has no limiter; start it with RATE_LIMIT=on to use the switch',
      );
    }
    if (on !== this.enforced) this.logger.warn(on ? 'Limits are enforced again' : 'Limits are no longer enforced');
    this.enforced = on;
  }
}
