// What Nest loads when an application is made. A spec that fakes the timers first would leave the faked ones in these modules, for all
// later specs of its worker: Express takes `setImmediate` once.
import '@nestjs/platform-express';
import { configureGlobal, defaultReportMessage, type RunDetails } from 'fast-check';
import { expect } from '@jest/globals';
import { HISTORIES, SEED } from '../property-runs.js';

// Each property of every spec: the same histories in each run, and a failure that says how to repeat it.
configureGlobal({ seed: SEED, reporter });

function reporter(details: RunDetails<unknown>): void {
  if (!details.failed) return;
  const { testPath } = expect.getState();
  const file = testPath?.slice(testPath.lastIndexOf('/') + 1);
  throw new Error(
    `${defaultReportMessage(details)}\n\nRepeat it: SEED=${SEED} HISTORIES=${HISTORIES} npm run jest -- ${file}`,
    { cause: details.errorInstance },
  );
}
