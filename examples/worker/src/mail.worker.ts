import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { RateLimiter } from 'nestjs-floodgate';

interface Mail {
  readonly tenant: string;
  readonly recipients: readonly string[];
  /** Milliseconds since 1970. */
  readonly notBefore?: number;
}

/** Sends the mails of a queue, each tenant within its own limit. A mail that has to wait goes back into the queue. */
@Injectable()
export class MailWorker {
  private readonly logger = new Logger(MailWorker.name);
  private queue: Mail[] = [];

  constructor(private readonly limiter: RateLimiter) {}

  add(...mails: readonly Mail[]): void {
    this.queue.push(...mails);
  }

  get waiting(): number {
    return this.queue.length;
  }

  @Interval(200)
  async sendDue(): Promise<void> {
    const now = Date.now();
    const due = this.queue.filter(({ notBefore = 0 }) => notBefore <= now);
    this.queue = this.queue.filter(({ notBefore = 0 }) => notBefore > now);
    for (const mail of due) await this.send(mail);
  }

  // Nest calls no guard for a job, so the job asks the limiter itself.
  private async send(mail: Mail): Promise<void> {
    const { tenant, recipients } = mail;
    const identity = { kind: 'tenant', value: tenant };
    const { allowed, retryAfterMs } = await this.limiter.consume('mails', identity, { cost: recipients.length });
    const what = `${tenant}, to ${recipients.join(' and ')}`;
    if (allowed) {
      this.logger.log(`${what}: sent`);
    } else if (retryAfterMs === null) {
      this.logger.error(`${what}: dropped, the limit never admits so many recipients`);
    } else {
      this.logger.warn(`${what}: refused, waits for ${Math.ceil(retryAfterMs)} ms`);
      this.add({ ...mail, notBefore: Date.now() + retryAfterMs });
    }
  }
}
