import { type DynamicModule, type INestApplication, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Configuration } from './config/configuration.js';
import { EnvironmentError, type Variables } from './config/environment.js';
import { readConfiguration } from './config/read-configuration.js';

export interface Service {
  /** How its log lines begin. */
  readonly name: string;
  readonly module: (configuration: Configuration) => DynamicModule;
  readonly port: (configuration: Configuration) => number;
}

/**
 * A service that listens as the variables say.
 *
 * @param host of all addresses if not given
 * @throws EnvironmentError
 */
export async function boot(
  { name, module, port }: Service,
  variables: Variables,
  host?: string,
): Promise<INestApplication> {
  const configuration = readConfiguration(variables);
  const app = await NestFactory.create(module(configuration), { abortOnError: false });
  await (host === undefined ? app.listen(port(configuration)) : app.listen(port(configuration), host));
  new Logger(name).log(`Listening on ${await app.getUrl()}`);
  return app;
}

/** The whole of a process. What keeps the service from starting ends it. */
export async function serve(service: Service): Promise<void> {
  try {
    (await boot(service, process.env)).enableShutdownHooks();
  } catch (error) {
    // A wrong variable is the operator's to correct; a stack trace would only hide the line that says how.
    console.error(error instanceof EnvironmentError ? error.message : error);
    process.exit(1);
  }
}
