import { ALTERNATIVES } from '../../libs/floodgate/src/testing/conformance/alternatives.js';
import { describeForEveryStore } from './conformance.js';

describeForEveryStore('alternatives', ALTERNATIVES);
