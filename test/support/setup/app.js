import { needs } from './needs.js';

export default needs('redis-server', 'postgres');
