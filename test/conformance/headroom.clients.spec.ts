import { HEADROOM } from '../../libs/floodgate/src/testing/conformance/headroom.js';
import { describeForEveryStore } from './conformance.js';

describeForEveryStore('headroom', HEADROOM);
