import { SLIDING_WINDOW_LOG } from '../../libs/floodgate/src/testing/conformance/tables/sliding-window-log.js';
import { conform } from './conformance.js';

conform('sliding window log', SLIDING_WINDOW_LOG);
