import { DRIVERS } from '../contexts/support/graphql-app.js';
import { describeMoments } from './support/moments.js';
import { graphqlOverHttp } from './transports/graphql.js';

for (const driver of DRIVERS) describeMoments(graphqlOverHttp(driver));
