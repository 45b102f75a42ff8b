import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { EnvironmentError } from './config/environment.js';
import { readConfiguration } from './config/read-configuration.js';

async function main(): Promise<void> {
  const configuration = readConfiguration(process.env);
  const app = await NestFactory.create(AppModule.forRoot(configuration));
  app.enableShutdownHooks();
  await app.listen(configuration.port);
  new Logger('RideHailing').log(`Listening on ${await app.getUrl()}`);
}

try {
  await main();
} catch (error) {
  // A wrong variable is the operator's to correct; a stack trace would only hide the line that says how.
  console.error(error instanceof EnvironmentError ? error.message : error);
  process.exit(1);
}
