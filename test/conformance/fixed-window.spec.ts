import { FIXED_WINDOW } from '../../libs/floodgate/src/testing/conformance/tables/fixed-window.js';
import { conform } from './conformance.js';

conform('fixed window', FIXED_WINDOW);
