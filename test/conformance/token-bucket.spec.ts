import { TOKEN_BUCKET } from '../../libs/floodgate/src/testing/conformance/tables/token-bucket.js';
import { conform } from './conformance.js';

conform('token bucket', TOKEN_BUCKET);
