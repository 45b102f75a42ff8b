import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { Redis } from 'ioredis';

const HOST = '127.0.0.1';
const START_LIMIT_MS = 10_000;

/**
 * A Redis of the bench's own on a free loopback port, which keeps nothing on disk and ends with this process in any case.
 *
 * @returns {Promise<{ url: string, admin: Redis, stop: () => Promise<void>, hang: () => void, goOn: () => void,
 *   crash: () => Promise<void>, restart: () => Promise<void> }>}
 */
export async function startRedis() {
  const port = await freePort();
  const args = ['--bind', HOST, '--port', `${port}`, '--save', '', '--appendonly', 'no'];
  let child;
  let dismiss;
  let ended;
  const launch = async () => {
    child = await spawnServer(args);
    dismiss = killWithThisProcess(child);
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
  };
  const up = await Promise.race([admin.ping(), ended.then(() => 'ended')]);
  if (up === 'PONG') {
    return {
      url: `redis://${HOST}:${port}`,
      admin,
      stop,
      hang: () => child.kill('SIGSTOP'),
      goOn: () => child.kill('SIGCONT'),
      crash: () => end('SIGKILL'),
      restart: launch,
    };
  }
  throw new Error(`Redis did not start on port ${port}`);
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

async function freePort() {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
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

/** Ends the server with this process, Ctrl-C and SIGKILL included: the shell's stdin is a pipe that only this process holds. */
function killWithThisProcess({ pid }) {
  const script = 'read -r _; kill -KILL "$1" 2>/dev/null';
  const watchdog = spawn('sh', ['-c', script, 'sh', `${pid}`], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  watchdog.unref();
  return () => watchdog.kill('SIGKILL');
}
