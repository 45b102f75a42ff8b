import { once } from 'node:events';
import { connect } from 'node:net';

/**
 * Keep-alive connections with one request at a time on each. As lean as can be: what it costs is taken from the servers,
 * which share the machine with it.
 */
export async function openConnections(port, count) {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1').setNoDelay().setEncoding('latin1'));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return {
    /** @returns {Promise<{ answered: number, wrong?: string }>} once every request has its answer */
    async load({ ms, requests, isRight }) {
      const shared = { deadline: performance.now() + ms, next: 0, answered: 0, wrong: undefined };
      await Promise.all(sockets.map((socket) => keepAsking(socket, shared, requests, isRight)));
      return shared;
    },
    close: () => sockets.forEach((socket) => socket.destroy()),
  };
}

function keepAsking(socket, shared, requests, isRight) {
  return new Promise((resolve, reject) => {
    let received = '';
    const ask = () => socket.write(requests[shared.next++ % requests.length]);
    const end = () => {
      socket.removeAllListeners('data').removeAllListeners('close');
      resolve();
    };
    const closed = () => reject(new Error('A server closed its connection'));
    if (socket.destroyed) return closed(); // between two loads
    socket.on('close', closed);
    socket.on('data', (text) => {
      received += text;
      const headEnd = received.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const head = received.slice(0, headEnd);
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
      if (received.length < headEnd + 4 + length) return;
      received = '';
      shared.answered++;
      if (!isRight(head)) shared.wrong ??= head;
      if (shared.wrong !== undefined || performance.now() >= shared.deadline) end();
      else ask();
    });
    ask();
  });
}
