import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Plugin } from 'vitepress';
import { PLAYGROUND } from './pages.js';

/** The pages of `libs` are JavaScript that imports the compiled library: here `.js` is the source, in TypeScript. */
export const sources: Plugin = {
  name: 'floodgate:sources',
  enforce: 'pre',
  resolveId(id, importer) {
    if (importer === undefined || !/^\..*\.js$/.test(id)) return undefined;
    const file = resolve(dirname(importer), id);
    const source = file.replace(/\.js$/, '.ts');
    return existsSync(file) || !existsSync(source) ? undefined : source;
  },
};

/** Serves the playground in development as a static host does. */
export const playground: Plugin = {
  name: 'floodgate:playground',
  configureServer({ middlewares, config }) {
    const path = `${config.base.replace(/\/$/, '')}${PLAYGROUND}`;
    middlewares.use((request, _response, next) => {
      if (request.url?.split(/[?#]/)[0] === path) request.url = `${path}index.html`;
      next();
    });
  },
};
