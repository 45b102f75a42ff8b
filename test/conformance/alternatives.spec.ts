import { ALTERNATIVES } from '../../libs/rate-limit/src/testing/conformance/alternatives.js';
import { describeForEveryStore } from './conformance.js';

describeForEveryStore('alternatives', ALTERNATIVES);
