import { BLOCKS } from '../../libs/rate-limit/src/testing/conformance/blocks.js';
import { describeForEveryStore } from './conformance.js';

describeForEveryStore('blocks', BLOCKS);
