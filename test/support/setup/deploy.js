import { needs } from './needs.js';

export default needs('deploy');
