import { Logger as NestLogger, type LoggerService } from '@nestjs/common';
import { type Logger, notify } from 'floodgate/internal';

/**
 * Nest's logger, under the name of the library. If the application's logger throws or rejects, only its line is lost: a log
 * line must not cause an outage.
 */
export class RateLimitLogger extends NestLogger implements Logger {
  constructor(context = 'RateLimit') {
    super(context);
  }

  override get localInstance(): LoggerService {
    return new Lenient(super.localInstance);
  }
}

const ignored = (): void => undefined;

class Lenient implements LoggerService {
  constructor(private readonly logger: LoggerService) {}

  log(...parts: unknown[]): void {
    this.write('log', parts);
  }

  warn(...parts: unknown[]): void {
    this.write('warn', parts);
  }

  error(...parts: unknown[]): void {
    this.write('error', parts);
  }

  private write(level: 'log' | 'warn' | 'error', [message, ...more]: unknown[]): void {
    notify((text): unknown => this.logger[level](text, ...more), message, ignored);
  }
}
