import { EVERY_ALGORITHM } from '../../libs/floodgate/src/testing/conformance/every-algorithm.js';
import { describeForEveryStore } from './conformance.js';

describeForEveryStore('every algorithm', EVERY_ALGORITHM);
