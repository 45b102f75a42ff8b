import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { FilesError } from './files.js';
import { run } from './run.js';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

new Command('nestjs-floodgate-migrate')
  .description(
    'Rewrites a NestJS application on @nestjs/throttler (or nestjs-floodgate/throttler) to the API of nestjs-floodgate, and lists what a person has to decide.',
  )
  .argument('[folder]', 'the folder of the application, with its package.json', '.')
  .option('-n, --dry-run', 'write nothing, and say what would be written')
  .version(version)
  .configureOutput({
    outputError: (error, write) => write(`Usage: nestjs-floodgate-migrate [options] [folder]\n\n${error}`),
  })
  .action((folder: string, { dryRun = false }: { dryRun?: boolean }) => {
    try {
      run({ folder: resolve(folder), dryRun, version: `^${version}`, print: (line) => console.log(line) });
    } catch (error) {
      if (!(error instanceof FilesError)) throw error;
      console.error(error.message);
      process.exitCode = 1;
    }
  })
  .parse();
