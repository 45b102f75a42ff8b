import { once } from 'node:events';
import { connect as dial, createServer } from 'node:net';

const HOST = '127.0.0.1';

/**
 * Stands before a Redis, and passes everything on.
 *
 * @param {number} target the port of Redis
 * @param {number} [lagMs] how much later it passes things on
 * @returns {Promise<{ url: string, port: number, turnTo: (port: number) => void, cutNext: () => void, close: () => void }>} `turnTo` ends
 *   the connections, and takes new ones to another Redis; `cutNext` swallows the next answer, and ends its connection
 */
export async function startProxy(target, lagMs = 0) {
  let port = target;
  let cutting = false;
  const sockets = new Set();
  const endAll = () => sockets.forEach((socket) => socket.destroy());
  const server = createServer((client) => {
    const upstream = dial(port, HOST);
    const both = [client, upstream];
    const end = () => both.forEach((socket) => socket.destroy());
    for (const socket of both) {
      sockets.add(socket);
      socket.on('error', end).on('close', () => (end(), sockets.delete(socket)));
    }
    const pass = (to, data) => (lagMs === 0 ? to.write(data) : setTimeout(() => to.write(data), lagMs));
    client.on('data', (data) => pass(upstream, data));
    upstream.on('data', (data) => {
      if (cutting) end();
      else pass(client, data);
      cutting = false;
    });
  }).listen(0, HOST);
  await once(server, 'listening');
  return {
    url: `redis://${HOST}:${server.address().port}`,
    port: server.address().port,
    turnTo(next) {
      port = next;
      endAll();
    },
    cutNext: () => (cutting = true),
    close() {
      server.close();
      endAll();
    },
  };
}
