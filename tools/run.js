// `npm start`, `npm run start:matching`, `npm run surge`: compiles a program of this repository and runs it in this process. The
// first argument is its module, and the others are the program's.
import { compile } from './compile.js';
import { waiting } from './waiting.js';

const [module] = process.argv.splice(2, 1);
if (module === undefined) throw new Error('expected a module, such as src/main');

const compiled = waiting('Compiling');
const urlOf = await compile();
compiled();
waiting('Starting');
await import(urlOf(module));
