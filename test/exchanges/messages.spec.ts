import { describeMoments } from './support/moments.js';
import { tcpMessages } from './transports/messages.js';

describeMoments(tcpMessages);
