import { LEAKY_BUCKET } from '../../libs/rate-limit/src/testing/conformance/tables/leaky-bucket.js';
import { conform } from './conformance.js';

conform('leaky bucket', LEAKY_BUCKET);
