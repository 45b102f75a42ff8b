import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { Application } from './support/packed.js';

const NEST = fileURLToPath(new URL('../../node_modules/@nestjs/cli/bin/nest.js', import.meta.url));
const MODULE = `import { Module } from '@nestjs/common';

@Module({})
export class AppModule {}
`;

// test/consumers installs the package by this command, builds what it has changed, and asks it.
it('nest add names a flag that it does not know, and changes nothing', async () => {
  const application = new Application(['@nestjs/cli', '@nestjs/common', '@nestjs/core']);
  application.write('package.json', '{ "type": "module", "dependencies": { "@nestjs/core": "*" } }');
  application.write('nest-cli.json', '{ "collection": "@nestjs/schematics", "sourceRoot": "src" }');
  const module = application.write('src/app.module.ts', MODULE);
  const add = [NEST, 'add', 'nestjs-floodgate', '--skip-install', '--clinet=redis'];
  const env = { ...process.env, NO_COLOR: '1', NODE_OPTIONS: '' };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, add, { cwd: application.folder, env }).catch(
    (failed: { stdout: string; stderr: string }) => failed,
  );
  expect(stdout + stderr).toMatch(/Unknown option .*clinet.*Valid options are: client/);
  expect(readFileSync(module, 'utf8')).toBe(MODULE);
  application.delete();
});
