import { describe, test } from 'node:test';
import { limitTests } from './limits.js';

limitTests({ describe: (name, body) => void describe(name, body), test: (name, body) => void test(name, body) });
