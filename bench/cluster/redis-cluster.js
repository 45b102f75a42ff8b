import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort, startRedis } from '../redis.js';

const SLOTS = 16_384;
const FORM_LIMIT_MS = 20_000;
const POLL_MS = 50;
/** A node's second port, on which the nodes talk to each other: Redis 6.2 knows no other distance. */
const BUS_OFFSET = 10_000;
/** Both ports lie below the systems' ephemeral ranges: no outgoing connection takes one of them by chance. */
const PORTS = { from: 11_000, to: 22_000 };
const PORT_ATTEMPTS = 100;
const START_ATTEMPTS = 5;

/**
 * A Cluster of masters without replicas: real processes on the loopback interface, which end with this process in any case.
 *
 * @returns {Promise<{ addresses: { host: string, port: number }[], admins: import('ioredis').Redis[], stop: () => Promise<void> }>}
 */
export async function startCluster(masters) {
  const nodes = [];
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()));
  };
  try {
    // One after the other: none finds a port free that the next one is about to take.
    while (nodes.length < masters) nodes.push(await startNode());
    await form(nodes);
  } catch (error) {
    await stop();
    throw error;
  }
  return { addresses: nodes.map(({ host, port }) => ({ host, port })), admins: nodes.map(({ admin }) => admin), stop };
}

async function startNode() {
  for (let attempt = 1; ; attempt++) {
    const directory = mkdtempSync(join(tmpdir(), 'floodgate-bench-'));
    try {
      return await startRedis({ choosePort: twoFreePorts, settings: () => settingsIn(directory), directory });
    } catch (error) {
      if (attempt === START_ATTEMPTS) throw error; // another process may have taken the port meanwhile
    }
  }
}

function settingsIn(directory) {
  const settings = {
    dir: directory,
    'cluster-enabled': 'yes',
    'cluster-announce-ip': '127.0.0.1',
    // Every process shares two cores: a node that waits for its turn is not down.
    'cluster-node-timeout': '60000',
  };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
}

async function twoFreePorts() {
  for (let attempt = 0; attempt < PORT_ATTEMPTS; attempt++) {
    const port = PORTS.from + Math.floor(Math.random() * (PORTS.to - PORTS.from));
    if ((await freePort(port)) === port && (await freePort(port + BUS_OFFSET)) !== undefined) return port;
  }
  throw new Error(`No two free ports ${BUS_OFFSET} apart from ${PORTS.from} to ${PORTS.to + BUS_OFFSET}`);
}

/** Gives each node an equal part of the slots, and waits until all know all. */
async function form(nodes) {
  const edge = (i) => Math.floor((SLOTS * i) / nodes.length);
  for (const [i, { admin }] of nodes.entries()) {
    // Different epochs: no two nodes conflict.
    await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
    const slots = Array.from({ length: edge(i + 1) - edge(i) }, (_, slot) => edge(i) + slot);
    await admin.call('CLUSTER', 'ADDSLOTS', ...slots);
  }
  // Every pair: gossip would take a second longer.
  for (const [i, { admin }] of nodes.entries()) {
    for (const { host, port } of nodes.slice(i + 1)) await admin.call('CLUSTER', 'MEET', host, port);
  }
  const end = performance.now() + FORM_LIMIT_MS;
  while (!(await isWhole(nodes))) {
    if (performance.now() > end) throw new Error(`The Cluster of ${nodes.length} has not formed`);
    await delay(POLL_MS);
  }
}

async function isWhole(nodes) {
  const whole = [
    /^cluster_state:ok/m,
    /^cluster_slots_ok:16384/m,
    new RegExp(`^cluster_known_nodes:${nodes.length}\\b`, 'm'),
  ];
  const infos = await Promise.all(nodes.map(({ admin }) => admin.cluster('INFO')));
  return infos.every((info) => whole.every((pattern) => pattern.test(info)));
}
