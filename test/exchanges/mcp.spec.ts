import { describeMoments } from './support/moments.js';
import { mcpTools } from './transports/mcp.js';

describeMoments(mcpTools('Express'));
describeMoments(mcpTools('Fastify'));
