import { needs } from './needs.js';

export default needs('redis-server', 'prometheus', 'promtool', 'prometheus-redis-exporter');
