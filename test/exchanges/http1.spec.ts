import { describeMoments } from './support/moments.js';
import { http1 } from './transports/http1.js';

describeMoments(http1('Express'), ['memory', 'Redis']);
describeMoments(http1('Fastify'));
