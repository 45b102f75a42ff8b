import { SEVERAL_POLICIES } from '../../libs/floodgate/src/testing/conformance/several-policies.js';
import { describeForEveryStore } from './conformance.js';

describeForEveryStore('several policies on a request', SEVERAL_POLICIES);
