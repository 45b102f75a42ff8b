#!/usr/bin/env node
// The codemod is a package of its own, nestjs-floodgate-migrate: it brings a TypeScript compiler, which no application needs.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const USAGE = `Usage: nestjs-floodgate migrate [folder] [--dry-run]

Rewrites a NestJS application on @nestjs/throttler to nestjs-floodgate, with the package nestjs-floodgate-migrate.
Its options: nestjs-floodgate migrate --help`;

const [command, ...args] = process.argv.slice(2);
if (command === 'migrate') {
  // npx takes an installed package of that version, else it asks before it downloads one.
  const npx = spawnSync('npx', [`nestjs-floodgate-migrate@^${version}`, ...args], {
    stdio: 'inherit',
    shell: process.platform === 'win32', // where npx is a script of the shell
  });
  if (npx.error !== undefined) console.error(`npx could not be run: ${npx.error.message}`);
  process.exitCode = npx.status ?? 1;
} else if (command === undefined || command === '--help' || command === '-h') {
  console.log(USAGE);
} else {
  console.error(`nestjs-floodgate: '${command}' is not a command\n\n${USAGE}`);
  process.exitCode = 1;
}
