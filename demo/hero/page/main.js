import { mountHero } from './hero.js';

const root = document.getElementById('hero');
if (root === null) throw new Error('the page has no #hero');
mountHero(root);
