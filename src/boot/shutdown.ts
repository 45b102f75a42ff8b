import { constants } from 'node:os';
import type { INestApplication, LoggerService } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import type { Configuration } from '../config/configuration.js';
import { EnvironmentError } from '../config/read-configuration.js';
import { Connections } from '../http/connections.js';

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/** For hooks that run after the grace: Redis or the matching service may not answer them. */
const AFTER_GRACE_MS = 1000;

/** Ends a process that cannot start. */
export function exitWith(error: unknown): never {
  // The operator corrects a wrong variable. A stack trace would hide the line that names it.
  console.error(error instanceof EnvironmentError ? error.message : error);
  process.exit(1);
}

/**
 * Closes the application at the first signal and ends the process at the second.
 *
 * A closed process ends by its signal, so that its parent sees it. It ends with code 1 if closing fails or hangs.
 */
export function endBySignal(app: INestApplication, logger: LoggerService): void {
  const config = app.get<ConfigService<Configuration, true>>(ConfigService, { strict: false });
  const { shutdownGraceMs } = config.get('http', { infer: true });
  const close = async (signal: NodeJS.Signals): Promise<void> => {
    for (const one of SIGNALS) process.on(one, endNow).off(one, begin);
    setTimeout(() => {
      logger.error(`The application did not close within ${shutdownGraceMs + AFTER_GRACE_MS} ms: the process ends now`);
      process.exit(1);
    }, shutdownGraceMs + AFTER_GRACE_MS).unref();
    try {
      app.get(Connections, { strict: false }).end();
      await app.close();
      endNow(signal);
    } catch (error) {
      logger.error('The application failed to close', error);
      process.exit(1);
    }
  };
  const begin = (signal: NodeJS.Signals): void => void close(signal);
  for (const signal of SIGNALS) process.on(signal, begin);
}

/** Node ignores a signal's default action in process 1 of a container, which therefore exits with the signal's code. */
function endNow(signal: NodeJS.Signals): void {
  for (const one of SIGNALS) process.off(one, endNow);
  process.kill(process.pid, signal);
  setImmediate(() => process.exit(128 + constants.signals[signal]));
}
