import { describeMoments } from './support/moments.js';
import { withoutNest } from './transports/servers.js';

for (const name of ['Node', 'Express', 'Fastify', 'Hono']) describeMoments(withoutNest(name));
