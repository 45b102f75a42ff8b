import { PLATFORMS } from '../support/http-app.js';
import { describeMoments } from './support/moments.js';
import { http1 } from './transports/http1.js';

for (const platform of PLATFORMS) describeMoments(http1(platform));
