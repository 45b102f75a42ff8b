import { describeMoments } from './support/moments.js';
import { natsMessages, redisMessages, tcpMessages } from './transports/messages.js';

for (const transport of [tcpMessages, redisMessages, natsMessages]) describeMoments(transport);
