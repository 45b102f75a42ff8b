import { requireFor } from './programs.js';

export default () => requireFor('npm run test:browser');
