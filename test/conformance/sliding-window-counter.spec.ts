import { SLIDING_WINDOW_COUNTER } from '../../libs/floodgate/src/testing/conformance/tables/sliding-window-counter.js';
import { conform } from './conformance.js';

conform('sliding window counter', SLIDING_WINDOW_COUNTER);
