// `npm run add-to-app --prefix ../floodgate`, in the folder of a Nest application beside a clone: packs the library, installs it there
// and runs `nest add`, until npm has a release.
import { execSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { optionsOf } from './command-line.js';

optionsOf('npm run add-to-app --prefix ../floodgate');

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Where npm was called. */
const app = process.env.INIT_CWD ?? process.cwd();
if (!existsSync(`${app}/package.json`))
  throw new Error(`${app} has no package.json: call this in the folder of an application`);

// npm hands its own options on: with `prefix`, each npm below would work in the clone.
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(?:config|package)_/i.test(name)));
/** @param {string} command @param {string} cwd */
const run = (command, cwd) => {
  console.log(`> ${command}`);
  execSync(command, { cwd, env, stdio: 'inherit' });
};

if (!existsSync(`${ROOT}node_modules`)) run('npm ci', ROOT);
run(`npm pack --silent -w floodgate -w nestjs-floodgate --pack-destination "${app}"`, ROOT);
const packed = readdirSync(app).filter((name) => /^(?:nestjs-)?floodgate-\d.*\.tgz$/.test(name));
run(`npm install ${packed.map((name) => `./${name}`).join(' ')}`, app);
run('npx nest add nestjs-floodgate --skip-install', app);
run('npm install', app); // the client of Redis that was chosen
