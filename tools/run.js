// `npm start`, `npm run start:matching`, `npm run surge`: compiles a program of this repository and runs it in this process. The
// first argument is its module, and the others are the program's.
import { optionsOf } from './command-line.js';
import { compile } from './compile.js';
import { waiting } from './waiting.js';

const [module] = process.argv.splice(2, 1);
if (module === undefined) throw new Error('expected a module, such as src/main');

/** Programs that environment variables alone configure. The others read their options. */
const WITHOUT_OPTIONS = {
  'src/main': 'npm start, with environment variables such as PORT and REDIS_URL (src/config/environment.ts has all)',
  'src/matching.main':
    'npm run start:matching, with environment variables such as MATCHING_PORT (src/config/environment.ts has all)',
};
if (Object.hasOwn(WITHOUT_OPTIONS, module)) optionsOf(WITHOUT_OPTIONS[module]);

const compiled = waiting('Compiling');
const urlOf = await compile();
compiled();
waiting('Starting');
await import(urlOf(module));
