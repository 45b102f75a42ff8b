import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import checkPrograms from './browser.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const cache = join(root, 'node_modules/.cache/floodgate-site');

/**
 * A `globalSetup` of Jest that builds the site once for all files: `npm run site:build` without the application's build, which
 * `npm run test:browser` has made. SITE_DIST is its folder, and SITE_BASE its path. If SITE_DIST is given, the files take that build.
 */
export default async function build() {
  await checkPrograms();
  if (process.env.SITE_DIST !== undefined) return;
  rmSync(cache, { recursive: true, force: true });
  // Below a path every link of the site's own code has to follow the base.
  Object.assign(process.env, { SITE_DIST: cache, SITE_BASE: '/some/path/' });
  const env = { ...process.env, NODE_OPTIONS: '', NODE_ENV: 'production', SITE_OUT: cache };
  for (const args of [
    ['tools/build-page.ts', 'playground', '--out', 'site/generated/public/playground'],
    ['site/main.ts', 'build'],
  ]) {
    const loader = ['--import', './test/support/typescript-loader.js', '--disable-warning=ExperimentalWarning'];
    execFileSync(process.execPath, [...loader, ...args], { cwd: root, env, stdio: ['ignore', 'ignore', 'inherit'] });
  }
}
