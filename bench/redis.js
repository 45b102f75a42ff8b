import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { Redis } from 'ioredis';

const HOST = '127.0.0.1';
const START_LIMIT_MS = 10_000;

/**
 * A Redis of the bench's own on a free loopback port, which keeps nothing on disk and ends with this process in any case.
 *
 * @param {object} [options]
 * @param {() => Promise<number>} [options.choosePort]
 * @param {(port: number) => string[]} [options.settings] further arguments of the server
 * @param {string} [options.directory] removed once the server has ended
 * @returns {Promise<{ url: string, admin: Redis, stop: () => Promise<void>, hang: () => void, goOn: () => void,
 *   crash: () => Promise<void>, restart: () => Promise<void> }>}
 */
export async function startRedis({ choosePort = freePort, settings = () => [], directory } = {}) {
  const port = await choosePort();
  const args = [
    '--bind',
    HOST,
    '--port',
    `${port}`,
    '--save',
    '',
    '--appendonly',
    'no',
    '--rdb-del-sync-files',
    'yes',
    ...settings(port),
  ];
  let child;
  let dismiss;
  let ended;
  const launch = async () => {
    child = await spawnServer(args);
    dismiss = killWithThisProcess(child, directory);
    ended = once(child, 'exit');
  };
  await launch();
  const admin = new Redis({
    host: HOST,
    port,
    retryStrategy: (attempt) => (attempt * 20 > START_LIMIT_MS ? null : 20),
    maxRetriesPerRequest: null,
  });
  admin.on('error', () => {}); // refused until the server listens; what fails later fails its command
  const end = async (signal) => {
    child.kill(signal);
    await ended;
    dismiss();
  };
  const stop = async () => {
    admin.disconnect();
    await end('SIGTERM');
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  };
  const up = await Promise.race([admin.ping(), ended.then(() => 'ended')]);
  if (up === 'PONG') {
    return {
      url: `redis://${HOST}:${port}`,
      host: HOST,
      port,
      admin,
      stop,
      hang: () => child.kill('SIGSTOP'),
      goOn: () => child.kill('SIGCONT'),
      crash: () => end('SIGKILL'),
      restart: launch,
    };
  }
  admin.disconnect();
  dismiss();
  if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  throw new Error(`Redis did not start on port ${port}`);
}

/**
 * What servers use from now on, until the returned function is called.
 *
 * @typedef {object} Usage
 * @property {number} cpu microseconds of the servers' main threads
 * @property {number} hottest the same of the server that used most
 * @property {number} calls scripts that clients called and that ran
 * @property {number} commands commands that ran, those inside of scripts included
 *
 * @param {Redis[]} admins
 * @returns {Promise<() => Promise<Usage>>}
 */
export async function watchUsage(admins) {
  const readAll = (read) => Promise.all(admins.map(read));
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  // The CPU last here and first below: it is that of the load, not of these questions.
  const callsBefore = sum(await readAll(scriptCalls));
  const commandsBefore = sum(await readAll(redisCommands));
  const cpuBefore = await readAll(redisCpu);
  return async () => {
    const cpu = (await readAll(redisCpu)).map((used, i) => used - cpuBefore[i]);
    const commands = sum(await readAll(redisCommands)) - commandsBefore - INFOS_BETWEEN * admins.length;
    const calls = sum(await readAll(scriptCalls)) - callsBefore;
    return { cpu: sum(cpu), hottest: Math.max(...cpu), calls, commands };
  };
}

/** The questions above that each server answers between the two that count commands, the first of these included. */
const INFOS_BETWEEN = 3;

/** A script that Redis did not know has run nothing. */
async function scriptCalls(admin) {
  const info = await admin.info('commandstats');
  const stats = info.matchAll(/^cmdstat_(?:eval|evalsha|fcall)(?:_ro)?:calls=(\d+).*?(?:,failed_calls=(\d+))?\r?$/gm);
  return [...stats].reduce((sum, [, calls, failed = 0]) => sum + Number(calls) - Number(failed), 0);
}

/** Microseconds of CPU that the main thread has used: it is the one that runs commands and scripts. */
export async function redisCpu(admin) {
  const info = await admin.info('cpu');
  return (number(info, 'used_cpu_sys_main_thread') + number(info, 'used_cpu_user_main_thread')) * 1e6;
}

/** Commands that Redis has run, those inside of scripts and this INFO included. */
export async function redisCommands(admin) {
  return number(await admin.info('stats'), 'total_commands_processed');
}

/** Calls of a command that Redis has run, such as `evalsha`; without those that failed. */
export async function redisCalls(admin, command) {
  const [, calls = 0, failed = 0] =
    new RegExp(`^cmdstat_${command}:calls=(\\d+),.*failed_calls=(\\d+)`, 'm').exec(await admin.info('commandstats')) ??
    [];
  return calls - failed;
}

function number(info, field) {
  const value = new RegExp(`^${field}:([\\d.]+)`, 'm').exec(info)?.[1];
  if (value === undefined) throw new Error(`This Redis does not report ${field}: 6.2 or later is needed`);
  return Number(value);
}

/** @param {number} [wanted] the port that has to be free; 0: any. Undefined is returned for one that is not. */
export async function freePort(wanted = 0) {
  const server = createServer().listen(wanted, HOST);
  try {
    await once(server, 'listening');
  } catch (error) {
    if (error.code !== 'EADDRINUSE') throw error;
    return undefined;
  }
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

async function spawnServer(args) {
  const chosen = process.env.REDIS_SERVER_BIN;
  for (const binary of chosen ? [chosen] : ['redis-server', 'valkey-server']) {
    const child = spawn(binary, args, { stdio: 'ignore', detached: true });
    try {
      await once(child, 'spawn');
      return child;
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
  }
  throw new Error('The bench needs redis-server or valkey-server on PATH, or REDIS_SERVER_BIN');
}

/**
 * Ends the server with this process, Ctrl-C and SIGKILL included, and removes its directory: the shell's stdin is a pipe that
 * only this process holds.
 */
function killWithThisProcess({ pid }, directory) {
  const script = 'read -r _; kill -KILL "$1" 2>/dev/null; [ -z "$2" ] || rm -rf -- "$2"';
  const watchdog = spawn('sh', ['-c', script, 'sh', `${pid}`, directory ?? ''], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watchdog.unref();
  return () => watchdog.kill('SIGKILL');
}
