import { SETTLEMENTS } from '../../libs/rate-limit/src/testing/conformance/settlements.js';
import { describeForEveryStore } from './conformance.js';

describeForEveryStore('settlements', SETTLEMENTS);
