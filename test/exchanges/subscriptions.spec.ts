import { describeMoments } from './support/moments.js';
import { subscriptions } from './transports/subscriptions.js';

// Apollo runs graphql-ws over Express and over Fastify; Mercurius has a server of its own.
describeMoments(subscriptions('Apollo over Express'));
describeMoments(subscriptions('Mercurius'));
