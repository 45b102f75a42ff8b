import { byId } from './dom.js';
import { mountPlayground } from './playground.js';

mountPlayground(byId('playground', HTMLElement));
