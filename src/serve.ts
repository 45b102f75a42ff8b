import { type DynamicModule, type INestApplication, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ALL_ADDRESSES, type Configuration } from './config/configuration.js';
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
 * @throws EnvironmentError
 */
export async function boot({ name, module, port }: Service, variables: Variables): Promise<INestApplication> {
  const configuration = readConfiguration(variables);
  const app = await NestFactory.create(module(configuration), { abortOnError: false });
  const { bind } = configuration;
  // Without an address Node listens on all: on `::`, or on `0.0.0.0` where there is no IPv6.
  await (bind === ALL_ADDRESSES ? app.listen(port(configuration)) : app.listen(port(configuration), bind));
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
