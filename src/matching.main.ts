import { MATCHING } from './services.js';
import { serve } from './serve.js';

await serve(MATCHING);
