// One process of the surge: `application` or `matching`, configured by the environment like any other.
import type { AddressInfo } from 'node:net';
import type { INestApplication } from '@nestjs/common';
import { Matching } from '../../matching/matching.js';
import type { MatchingStatistics } from '../../matching/matching-statistics.js';
import { boot } from '../../serve.js';
import { MATCHING, RIDE_HAILING } from '../../services.js';
import { answerCalls } from './answer-calls.js';
import { DecisionMeter } from './decision-meter.js';
import { ProcessMeter, type ProcessUse } from './process-meter.js';

export interface ServiceUse extends ProcessUse {
  /** Times of the decisions that were not made in the process, as `decisionTimes` reads them. */
  readonly decisions: string;
}

/** What the parent may ask. */
// An alias, since an interface has no index signature.
export type ServiceProcedures = {
  readonly port: () => number;
  readonly begin: () => void;
  readonly end: () => ServiceUse;
  /** Of matching. */
  readonly statistics: () => Promise<MatchingStatistics>;
};

const decisions = new DecisionMeter();
const meter = new ProcessMeter();
const app: INestApplication = await boot(process.argv[2] === 'matching' ? MATCHING : RIDE_HAILING, '127.0.0.1');

answerCalls({
  port: () => (app.getHttpServer() as { address(): AddressInfo }).address().port,
  begin: () => {
    decisions.reset();
    meter.begin();
  },
  end: () => ({ ...meter.end(), decisions: decisions.encoded() }),
  statistics: () => app.get(Matching).statistics(),
} satisfies ServiceProcedures);
