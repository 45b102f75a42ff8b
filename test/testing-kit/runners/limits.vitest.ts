import { describe, test } from 'vitest';
import { limitTests } from './limits.js';

limitTests({ describe, test });
