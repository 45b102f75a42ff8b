import { LEASES } from '../../libs/floodgate/src/testing/conformance/leases.js';
import { CONCURRENCY } from '../../libs/floodgate/src/testing/conformance/tables/concurrency.js';
import { conform, describeForEveryStore } from './conformance.js';

conform('concurrency', CONCURRENCY);
describeForEveryStore('leases', LEASES);
