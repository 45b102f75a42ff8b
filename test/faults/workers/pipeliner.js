// Sends requests over many connections at once, in one write for each connection. Prints the count of each status.
// Arguments: port, connections, requests on each.
import { once } from 'node:events';
import { connect } from 'node:net';

const [port, connections, requests] = process.argv.slice(2).map(Number);
const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const last = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
const counts = {};

const sockets = await Promise.all(
  Array.from({ length: connections }, async () => {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  }),
);
await Promise.all(
  sockets.map(async (socket) => {
    let text = '';
    socket.setEncoding('latin1').on('data', (part) => (text += part));
    socket.write(request.repeat(requests - 1) + last);
    await once(socket, 'close');
    for (const [, status] of text.matchAll(/HTTP\/1\.1 (\d{3}) /g)) counts[status] = (counts[status] ?? 0) + 1;
  }),
);
console.log(JSON.stringify(counts));
