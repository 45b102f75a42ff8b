import { BLOCKS } from '../../libs/floodgate/src/testing/conformance/blocks.js';
import { describeForEveryStore } from './conformance.js';

describeForEveryStore('blocks', BLOCKS);
