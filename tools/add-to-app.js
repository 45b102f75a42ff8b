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
const wrong = !existsSync(`${app}/package.json`)
  ? 'has no package.json'
  : existsSync(`${app}/libs/nest`)
    ? 'is a clone of Floodgate'
    : undefined;
if (wrong !== undefined) {
  console.error(`${app} ${wrong}. Call this in the folder of an application: npm run add-to-app --prefix ../floodgate`);
  process.exit(1);
}

// npm hands its own options on: with `prefix`, each npm below would work in the clone.
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(?:config|package)_/i.test(name)));
/** @param {string} command @param {string} cwd */
const run = (command, cwd) => {
  console.log(`> ${command}`);
  execSync(command, { cwd, env, stdio: 'inherit' });
};

if (!existsSync(`${ROOT}node_modules`)) {
  console.log('Installs the packages that build Floodgate, once: some minutes');
  run('npm ci', ROOT);
}
run(`npm pack --silent -w floodgate -w nestjs-floodgate --pack-destination "${app}"`, ROOT);
const packed = readdirSync(app).filter((name) => /^(?:nestjs-)?floodgate-\d.*\.tgz$/.test(name));
run(`npm install ${packed.map((name) => `./${name}`).join(' ')}`, app);
// A script answers the questions by flags: `-- --client=ioredis`.
run(['npx nest add nestjs-floodgate --skip-install', ...process.argv.slice(2)].join(' '), app);
run('npm install', app); // the client of Redis that was chosen
