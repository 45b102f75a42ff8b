import { HEADROOM } from '../../libs/rate-limit/src/testing/conformance/headroom.js';
import { describeForEveryStore } from './conformance.js';

describeForEveryStore('headroom', HEADROOM);
