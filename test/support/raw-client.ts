import { connect } from 'node:net';

/**
 * Writes bytes to a port as they are: an HTTP client would normalise them. Reads until the server closes the connection, so the
 * last request needs `Connection: close`.
 */
export function exchange(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
    socket.setTimeout(5_000, () => socket.destroy(new Error(`no answer to ${JSON.stringify(bytes.slice(0, 80))}`)));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
  });
}

/** The status of every response of a connection. A body ends where the next response begins. */
export function statuses(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.[01] (\d{3}) /g)].map(([, status]) => Number(status));
}

/** The values of a header, in the order of the responses that have it. */
export function headerOfEach(text: string, name: string): string[] {
  return [...text.matchAll(new RegExp(`^${name}: (.*)\\r$`, 'gim'))].map(([, value]) => value!);
}
