import { needs } from './needs.js';

export default needs('http', 'concurrency', 'faults');
