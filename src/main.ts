import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { BootLogger } from './boot/boot-logger.js';
import { listen } from './boot/listen.js';
import { endBySignal, exitWith } from './boot/shutdown.js';
import { readConfiguration } from './config/read-configuration.js';
import { serveDocs } from './docs/serve-docs.js';
import { PatientAdapter } from './http/patient-adapter.js';
import { RouteTable } from './limits/route-table.js';

try {
  const configuration = readConfiguration(process.env);
  const logger = new BootLogger('RideHailing');
  const app = await NestFactory.create(AppModule.forRoot(configuration), new PatientAdapter(), {
    abortOnError: false,
    logger,
  });
  if (configuration.apiDocs) serveDocs(app);
  endBySignal(app, logger);
  const url = await listen(app, configuration.bind, configuration.port, 'PORT');
  logger.log(`Limited routes, with the limit of each policy:\n${await app.get(RouteTable, { strict: false }).text()}`);
  logger.log(`Listening on\n${url}`);
} catch (error) {
  exitWith(error);
}
