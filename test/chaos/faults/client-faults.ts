import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { now } from '../clock.js';
import { ADDRESSES, type RouteName } from '../policies.js';
import type { Scene } from '../run/scene.js';
import type { Injure } from './redis-faults.js';

const PIPELINED = 4;
const PAUSE_MS = 10;
const BURST_LIMIT_MS = 15_000;
const BURST_ROUTES: readonly RouteName[] = ['tokens', 'window', 'counter', 'ride'];

function bytesOf({ load }: Scene, route: RouteName): { bytes: string; from: string } {
  const { headers, from } = load.draw(route);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return { bytes: `GET /${route} HTTP/1.1\r\nHost: pod\r\n${lines.join('')}\r\n`, from: ADDRESSES[from - 1]! };
}

function open(scene: Scene, pod: number, localAddress: string): Socket {
  const socket = connect({ host: '127.0.0.1', port: scene.pods[pod]!.port, localAddress, noDelay: true });
  socket.on('error', () => undefined);
  return socket;
}

/** Whether all answers arrived. */
async function pipeline(scene: Scene, pod: number): Promise<boolean> {
  const requests = Array.from({ length: PIPELINED }, () =>
    bytesOf(scene, BURST_ROUTES[scene.random(BURST_ROUTES.length)]!),
  );
  const socket = open(scene, pod, requests[0]!.from);
  socket.setTimeout(BURST_LIMIT_MS, () => socket.destroy());
  let text = '';
  socket.setEncoding('latin1').on('data', (more: string) => {
    text += more;
    if ((text.match(/HTTP\/1\.1 \d{3} /g) ?? []).length >= PIPELINED) socket.end();
  });
  socket.write(requests.map(({ bytes }) => bytes).join(''));
  await once(socket, 'close');
  return (text.match(/HTTP\/1\.1 (200|429|503) /g) ?? []).length >= PIPELINED;
}

export const CLIENT_FAULTS = {
  'burst over many connections': async (scene, { pod, amount }) => {
    if (!scene.pods[pod!]!.serves) return;
    const answered = await Promise.all(Array.from({ length: amount }, () => pipeline(scene, pod!)));
    const missing = answered.filter((all) => !all).length;
    const text = `${missing} connections of a burst to pod ${pod} were not answered in full`;
    if (missing > 0) scene.wrong.push({ at: now(), text });
  },
  'requests reset after sending': async (scene, { pod, forMs, amount }) => {
    const until = performance.now() + forMs;
    for (let i = 0; i < amount && performance.now() < until; i++) {
      if (scene.pods[pod!]!.serves) {
        const { bytes, from } = bytesOf(scene, 'address');
        const socket = open(scene, pod!, from);
        // The request is sent before the reset.
        socket.on('connect', () => socket.write(bytes, () => socket.resetAndDestroy()));
      }
      await delay(PAUSE_MS);
    }
  },
  'requests half sent': async (scene, { pod, forMs, amount }) => {
    if (!scene.pods[pod!]!.serves) return;
    const sockets = Array.from({ length: amount }, () => {
      const { bytes, from } = bytesOf(scene, 'address');
      const socket = open(scene, pod!, from);
      socket.write(bytes.slice(0, scene.random(bytes.length - 4)));
      return socket;
    });
    await delay(forMs);
    for (const socket of sockets) socket.destroy();
  },
} satisfies Readonly<Record<string, Injure>>;
