import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { afterLoopTime, withinLoopTime } from './loop-timer.js';

function stall(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe('afterLoopTime', () => {
  it('does not run a cancelled task', async () => {
    let runs = 0;
    const cancel = afterLoopTime(20, () => runs++);
    await delay(5);
    cancel();
    await delay(100);
    expect(runs).toBe(0);
  });

  it('never runs a task after Infinity', async () => {
    let runs = 0;
    afterLoopTime(Infinity, () => runs++);
    await delay(20); // a timer of Infinity fires after 1 ms
    expect(runs).toBe(0);
  });

  it('counts a stall as one part of its time, so bytes that came meanwhile are read first', async () => {
    const server = createServer((socket) => {
      for (let ms = 10; ms < 60; ms += 10) setTimeout(() => socket.write('x'), ms);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    let read = 0;
    socket.on('data', (bytes) => (read += bytes.length));
    const readThen = new Promise<number>((resolve) => afterLoopTime(100, () => resolve(read)));
    stall(500); // far longer than its time
    expect(await readThen).toBe(5);
    socket.destroy();
    server.close();
  });
});

describe('withinLoopTime', () => {
  it('rejects when no answer comes', async () => {
    await expect(withinLoopTime(20, new Promise(() => undefined))).rejects.toThrow('no answer within 20 ms');
  });
});
