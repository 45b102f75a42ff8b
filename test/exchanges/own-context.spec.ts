import { describeMoments } from './support/moments.js';
import { jobsAlone, jobsOfClients } from './transports/own-context.js';

describeMoments(jobsOfClients);
describeMoments(jobsAlone);
