import { describeMoments } from './support/moments.js';
import { socketIoConnections, socketIoMessages } from './transports/sockets.js';

describeMoments(socketIoMessages);
describeMoments(socketIoConnections);
