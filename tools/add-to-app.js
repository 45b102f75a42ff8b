// `npm run add-to-app --prefix ../floodgate`, in the folder of a Nest application beside a clone: packs the library, installs it there
// and runs `nest add`, until npm has a release.
import { execSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { exitWithUsage, optionsOf } from './command-line.js';

const USAGE = `npm run add-to-app --prefix ../floodgate -- [options], in the folder of an application
  --client X    the client of Redis: ioredis, redis or none; asked for when it is left out
  --identity X  who is counted: ip, user or api-key; asked for when it is left out`;
const answers = optionsOf(USAGE, { client: { type: 'string' }, identity: { type: 'string' } });

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Where npm was called. */
const app = process.env.INIT_CWD ?? process.cwd();
const wrong = !existsSync(`${app}/package.json`)
  ? 'has no package.json'
  : existsSync(`${app}/libs/nest`)
    ? 'is a clone of Floodgate'
    : undefined;
if (wrong !== undefined) {
  exitWithUsage(USAGE, `${app} ${wrong}`);
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
const flags = Object.entries(answers).map(([name, value]) => `--${name}=${JSON.stringify(value)}`);
run(['npx nest add nestjs-floodgate --skip-install', ...flags].join(' '), app);
run('npm install', app); // the client of Redis that was chosen
