import { CONCURRENT_REQUESTS } from '../../libs/floodgate/src/testing/conformance/concurrency.js';
import { describeForEveryStore } from './conformance.js';

describeForEveryStore('concurrent requests', CONCURRENT_REQUESTS);
