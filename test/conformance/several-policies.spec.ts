import { SEVERAL_POLICIES } from '../../libs/rate-limit/src/testing/conformance/several-policies.js';
import { describeForEveryStore } from './conformance.js';

describeForEveryStore('several policies on a request', SEVERAL_POLICIES);
