import { constants } from 'node:os';
import { type DynamicModule, type INestApplication, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ALL_ADDRESSES, Configuration } from './config/configuration.js';
import { EnvironmentError, type Variables } from './config/environment.js';
import { readConfiguration } from './config/read-configuration.js';
import { Connections } from './http/connections.js';
import { PatientAdapter } from './http/patient-adapter.js';

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
  const adapter = new PatientAdapter(configuration.http);
  const app = await NestFactory.create(module(configuration), adapter, { abortOnError: false });
  const { bind } = configuration;
  // Without an address Node listens on all: on `::`, or on `0.0.0.0` where there is no IPv6.
  await (bind === ALL_ADDRESSES ? app.listen(port(configuration)) : app.listen(port(configuration), bind));
  new Logger(name).log(`Listening on ${await app.getUrl()}`);
  return app;
}

/** The whole of a process. What keeps the service from starting ends it. */
export async function serve(service: Service): Promise<void> {
  try {
    endBySignal(service.name, await boot(service, process.env));
  } catch (error) {
    // A wrong variable is the operator's to correct; a stack trace would only hide the line that says how.
    console.error(error instanceof EnvironmentError ? error.message : error);
    process.exit(1);
  }
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/** For hooks that run on after the grace: a Redis or a matching worker that does not answer. */
const AFTER_GRACE_MS = 1000;

/**
 * The first signal closes the application; the process ends by that signal, or with code 1 if closing fails or hangs. The second
 * one ends it at once.
 */
function endBySignal(name: string, app: INestApplication): void {
  const logger = new Logger(name);
  const close = async (signal: NodeJS.Signals): Promise<void> => {
    for (const one of SIGNALS) process.on(one, endNow).off(one, begin);
    const { shutdownGraceMs } = app.get(Configuration, { strict: false }).http;
    setTimeout(() => {
      logger.error('Closing takes too long: ended without it');
      process.exit(1);
    }, shutdownGraceMs + AFTER_GRACE_MS).unref();
    try {
      app.get(Connections, { strict: false }).end();
      await app.close();
      endNow(signal);
    } catch (error) {
      logger.error('Closing failed', error);
      process.exit(1);
    }
  };
  const begin = (signal: NodeJS.Signals): void => void close(signal);
  for (const signal of SIGNALS) process.on(signal, begin);
}

/** By the signal itself, so that the parent sees it; process 1 of a container, to which it does nothing, ends with its code. */
function endNow(signal: NodeJS.Signals): void {
  for (const one of SIGNALS) process.off(one, endNow);
  process.kill(process.pid, signal);
  setImmediate(() => process.exit(128 + constants.signals[signal]));
}
