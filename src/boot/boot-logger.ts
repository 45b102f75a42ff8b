import { ConsoleLogger } from '@nestjs/common';

/** Nest logs a line for each module and each route. One table says the same in less space. */
const QUIET = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);

/**
 * Nest's console logger without its messages about modules and routes. Warnings and errors are not affected, but for one that
 * `listen` says in a line of its own.
 */
export class BootLogger extends ConsoleLogger {
  override log(message: unknown, ...rest: unknown[]): void {
    const context = rest.at(-1);
    if (typeof context === 'string' && QUIET.has(context)) return;
    super.log(message, ...rest);
  }

  override error(message: unknown, ...rest: unknown[]): void {
    if (typeof message === 'string' && message.startsWith('Error: listen ') && rest.at(-1) === 'NestApplication')
      return;
    super.error(message, ...rest);
  }
}
