import { NestFactory } from '@nestjs/core';
import { BootLogger } from './boot/boot-logger.js';
import { listen } from './boot/listen.js';
import { endBySignal, exitWith } from './boot/shutdown.js';
import { readConfiguration } from './config/read-configuration.js';
import { PatientAdapter } from './http/patient-adapter.js';
import { MatchingServiceModule } from './matching/service/matching-service.module.js';

try {
  const configuration = readConfiguration(process.env);
  const logger = new BootLogger('MatchingService');
  const app = await NestFactory.create(MatchingServiceModule.forRoot(configuration), new PatientAdapter(), {
    abortOnError: false,
    logger,
  });
  endBySignal(app, logger);
  const url = await listen(app, configuration.bind, configuration.matching.port, 'MATCHING_PORT');
  logger.log(`Listening on\n${url}`);
} catch (error) {
  exitWith(error);
}
