import { RIDE_HAILING } from './services.js';
import { serve } from './serve.js';

await serve(RIDE_HAILING);
