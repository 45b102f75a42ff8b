import { type ExecutionContext, Injectable, Logger } from '@nestjs/common';
import { RateLimitGuard } from 'nestjs-floodgate';

/** Whether a world enforces its limits. */
@Injectable()
export class LimitsSwitch {
  private readonly logger = new Logger('Limits');
  private enforced = true;

  get on(): boolean {
    return this.enforced;
  }

  set(on: boolean): void {
    if (on !== this.enforced) this.logger.warn(on ? 'Limits are enforced again' : 'Limits are no longer enforced');
    this.enforced = on;
  }
}

/** The guard of a world: the library's, with a switch. */
@Injectable()
export class SwitchedGuard extends RateLimitGuard {
  constructor(private readonly limits: LimitsSwitch) {
    super();
  }

  protected override shouldSkip(_context: ExecutionContext): boolean {
    return !this.limits.on;
  }
}
