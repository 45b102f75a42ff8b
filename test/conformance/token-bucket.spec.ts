import { TOKEN_BUCKET } from '../../libs/rate-limit/src/testing/conformance/tables/token-bucket.js';
import { conform } from './conformance.js';

conform('token bucket', TOKEN_BUCKET);
