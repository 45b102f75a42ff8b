import { describeMoments } from './support/moments.js';
import { http2OnFastify } from './transports/http2.js';

describeMoments(http2OnFastify);
