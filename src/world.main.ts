// A world of the control room: this application in a process of its own, with limits that the page switches.
import { runWorld } from '../demo/control-room/stage/run-world.js';
import { AppModule } from './app.module.js';
import type { Configuration } from './config/configuration.js';
import { PatientAdapter } from './http/patient-adapter.js';
import { Matching } from './matching/matching.js';

runWorld({
  module: (configuration: Configuration) => AppModule.forRoot(configuration),
  adapter: () => new PatientAdapter(),
  matching: Matching,
});
