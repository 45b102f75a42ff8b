import { connect } from 'node:net';

/** Milliseconds between two looks at what is due. */
const TICK_MS = 1;

/**
 * Requests that arrive at random instants (a Poisson process), whether or not earlier ones are answered. A request that finds no
 * free connection opens one. Latencies count from the instant at which a request was due.
 *
 * @param {number} port
 * @param {number} timeoutMs after which a client gives up, and closes its connection
 */
export function openClient(port, timeoutMs) {
  const free = [];
  const all = new Set();

  const dial = () => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.setEncoding('latin1');
    all.add(socket);
    socket.on('close', () => all.delete(socket));
    socket.on('error', () => {}); // its close says the rest
    return socket;
  };

  /** Settles with the status; 0 for a request without an answer in time. */
  const send = (request, until) => {
    const socket = takeFree() ?? dial();
    return new Promise((resolve) => {
      const end = (status) => {
        clearTimeout(timer);
        socket.removeAllListeners('data').off('close', gone);
        if (status === 0) socket.destroy();
        else free.push(socket);
        resolve(status);
      };
      const gone = () => end(0);
      const timer = setTimeout(gone, until - performance.now());
      let received = '';
      socket.on('close', gone);
      socket.on('data', (text) => {
        received += text;
        const headEnd = received.indexOf('\r\n\r\n');
        if (headEnd < 0) return;
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(received.slice(0, headEnd))?.[1]);
        if (received.length >= headEnd + 4 + length) end(Number(received.slice(9, 12)));
      });
      socket.write(request);
    });
  };

  const takeFree = () => {
    let socket;
    do socket = free.pop();
    while (socket?.destroyed);
    return socket;
  };

  return {
    /**
     * Sends requests for `ms`, `rate` a second, and waits for their ends.
     *
     * @param {(i: number) => string} classOf the class of the i-th request
     * @returns {Promise<{ class: string, status: number, ms: number, sentAtMs: number }[]>}
     */
    async load({ rate, ms, classOf }) {
      const start = performance.now();
      const outcomes = [];
      let due = start;
      for (let i = 0; ;) {
        const now = performance.now();
        for (; due <= now; i++) {
          const [name, at] = [classOf(i), due];
          const request = `GET /work HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Class: ${name}\r\n\r\n`;
          outcomes.push(
            send(request, at + timeoutMs).then((status) => {
              const took = status === 0 ? timeoutMs : performance.now() - at;
              return { class: name, status, ms: took, sentAtMs: at - start };
            }),
          );
          due += (-Math.log(1 - Math.random()) * 1000) / rate;
        }
        if (due - start > ms) break;
        await new Promise((resolve) => setTimeout(resolve, TICK_MS));
      }
      return Promise.all(outcomes);
    },
    close() {
      for (const socket of all) socket.destroy();
    },
  };
}
