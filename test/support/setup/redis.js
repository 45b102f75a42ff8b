import { needs } from './needs.js';

export default needs('conformance', 'docs');
