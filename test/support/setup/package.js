import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const folder = join(root, 'node_modules/.cache/floodgate-package');

/**
 * A `globalSetup` of Jest that packs the library as `npm publish` would, once for all files (npm's `prepack` builds it).
 * PACKAGE_TARBALL names the tarball, and PACKAGE_FOLDER the folder that it is unpacked in.
 */
export default function pack() {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const args = ['pack', '-w', 'nestjs-floodgate', '--pack-destination', folder];
  execFileSync('npm', args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  execFileSync('sh', ['-c', 'tar -xzf nestjs-floodgate-*.tgz && mv nestjs-floodgate-*.tgz packed.tgz'], {
    cwd: folder,
  });
  process.env.PACKAGE_TARBALL = join(folder, 'packed.tgz');
  process.env.PACKAGE_FOLDER = join(folder, 'package');
}
