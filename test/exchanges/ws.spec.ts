import { describeMoments } from './support/moments.js';
import { wsConnections, wsMessages } from './transports/ws.js';

describeMoments(wsMessages);
describeMoments(wsConnections);
