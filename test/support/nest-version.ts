import { readFileSync } from 'node:fs';

const CORE = new URL('../../node_modules/@nestjs/core/package.json', import.meta.url);
const { version } = JSON.parse(readFileSync(CORE, 'utf8')) as { readonly version: string };

/** Whether the installed Nest is the older one that the library supports (`npm run test:oldest`). */
export const isNest11 = version.startsWith('11.');
