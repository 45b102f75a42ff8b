import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import '../typescript-loader.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const cache = join(root, 'node_modules/.cache/floodgate-package');

/**
 * A `globalSetup` of Jest that packs the packages as `npm publish` would, once for all files (npm's `prepack` builds
 * them). PACKAGES_FOLDER has a folder for each, with the tarball `packed.tgz` and its contents in `package`.
 */
export default async function pack() {
  const { PUBLISHED } = await import('../../../tools/published.ts');
  rmSync(cache, { recursive: true, force: true });
  for (const { name } of PUBLISHED) {
    const folder = join(cache, name);
    mkdirSync(folder, { recursive: true });
    const args = ['pack', '-w', name, '--pack-destination', folder];
    execFileSync('npm', args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
    execFileSync('sh', ['-c', 'tar -xzf *.tgz && mv *.tgz packed.tgz'], { cwd: folder });
  }
  process.env.PACKAGES_FOLDER = cache;
}
