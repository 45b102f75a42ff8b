import { describeMoments } from './support/moments.js';
import { subscriptions } from './transports/subscriptions.js';

// Apollo's driver subscribes over Fastify by the same code as over Express.
describeMoments(subscriptions('Apollo over Express'));
describeMoments(subscriptions('Mercurius'));
