import { needs } from './needs.js';

export default needs('npm run test:browser');
