import { needs } from './needs.js';

export default needs('app', 'processes');
