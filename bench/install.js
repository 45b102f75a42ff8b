import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const LIBRARY = fileURLToPath(new URL('../libs/rate-limit/dist/index.js', import.meta.url));

/** Installs the peers when they are not there in the versions of the lock file. */
export function installPeers() {
  if (!existsSync(LIBRARY)) throw new Error('The library is not built: run `npm run bench` at the root');
  if (peersAreInstalled()) return;
  process.stderr.write('Installing the peers into bench/node_modules\n');
  // What npm says goes to stderr: stdout is for the results.
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: here, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error('npm ci in bench/ failed, see above');
}

function peersAreInstalled() {
  const wanted = packages('package-lock.json');
  // npm keeps there what it has installed.
  const installed = packages('node_modules/.package-lock.json');
  return Object.entries(wanted).every(([path, { version }]) => path === '' || installed[path]?.version === version);
}

function packages(file) {
  return existsSync(`${here}${file}`) ? JSON.parse(readFileSync(`${here}${file}`, 'utf8')).packages : {};
}
