import { describeMoments } from './support/moments.js';
import { wsConnections, wsMessages } from './transports/sockets.js';

describeMoments(wsMessages);
describeMoments(wsConnections);
