import { describeMoments } from './support/moments.js';
import { socketIoConnections, socketIoMessages } from './transports/socket-io.js';

describeMoments(socketIoMessages);
describeMoments(socketIoConnections);
