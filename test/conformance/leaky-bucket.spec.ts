import { LEAKY_BUCKET } from '../../libs/floodgate/src/testing/conformance/tables/leaky-bucket.js';
import { conform } from './conformance.js';

conform('leaky bucket', LEAKY_BUCKET);
