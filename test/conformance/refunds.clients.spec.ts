import { REFUNDS } from '../../libs/rate-limit/src/testing/conformance/refunds.js';
import { describeForEveryStore } from './conformance.js';

describeForEveryStore('refunds', REFUNDS);
