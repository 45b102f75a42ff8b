#!/usr/bin/env node
// The codemod is a package of its own, nestjs-floodgate-migrate: it brings a TypeScript compiler, which no application needs.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const { version, homepage } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const USAGE = `Usage: nestjs-floodgate migrate [folder] [--dry-run]

Rewrites a NestJS application on @nestjs/throttler to nestjs-floodgate, with the package nestjs-floodgate-migrate.
Its options: nestjs-floodgate migrate --help`;

const BY_HAND = `${homepage}migration#switch-the-imports`;

function npx(given, stdio) {
  return spawnSync('npx', given, {
    stdio,
    shell: process.platform === 'win32', // where npx is a script of the shell
  });
}

const [command, ...args] = process.argv.slice(2);
if (command === 'migrate') {
  const codemod = `nestjs-floodgate-migrate@^${version}`;
  // npx takes an installed package of that version, else it asks before it downloads one.
  const { status, error } = npx([codemod, ...args], 'inherit');
  if (error !== undefined) console.error(`npx could not be run: ${error.message}`);
  // The codemod fails with the same status as npx. Only npx leaves no codemod behind that answers without an installation.
  else if (status !== 0 && npx(['--no', '--', codemod, '--version'], 'ignore').status !== 0) {
    console.error(
      `nestjs-floodgate: the codemod ${codemod} could not be installed, so nothing was rewritten: install it by ` +
        '`npm install --no-save` with its name or its packed file (`npm pack -w nestjs-floodgate-migrate` in the repository ' +
        `makes one) and run this command again, or switch the imports by hand: ${BY_HAND}`,
    );
  }
  process.exitCode = status ?? 1;
} else if (command === undefined || command === '--help' || command === '-h') {
  console.log(USAGE);
} else {
  console.error(`${USAGE}\n\nnestjs-floodgate: '${command}' is not a command`);
  process.exitCode = 1;
}
