import { REFUNDS } from '../../libs/floodgate/src/testing/conformance/refunds.js';
import { describeForEveryStore } from './conformance.js';

describeForEveryStore('refunds', REFUNDS);
