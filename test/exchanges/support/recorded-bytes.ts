import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

/**
 * What a client of HTTP/2 sends for one request, as bytes: a test writes them at once and resets the connection before a server has
 * accepted it.
 *
 * @param body the request's, such as a message of gRPC
 */
export async function http2Request(headers: OutgoingHttpHeaders, body?: Buffer): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const server = createServer((socket) =>
    socket.on('error', () => {}).on('data', (chunk: Buffer) => chunks.push(chunk)),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const session = connectHttp2(`http://127.0.0.1:${port}`).on('error', () => {});
  const stream = session.request(headers, { endStream: body === undefined }).on('error', () => {});
  if (body !== undefined) stream.end(body);
  const [socket] = (await once(session, 'connect').then(() => [session.socket])) as [Socket];
  // Everything is written once nothing comes any more: the server below never answers.
  for (let written = -1, quiet = 0; quiet < 50; quiet++) {
    await turn();
    if (socket.bytesWritten !== written) [written, quiet] = [socket.bytesWritten, 0];
  }
  const total = socket.bytesWritten;
  while (Buffer.concat(chunks).length < total) await turn();
  session.destroy();
  server.close();
  return Buffer.concat(chunks);
}

/** Connects, writes and resets, as often as it is told. */
const RESETS = `
const { connect } = require('node:net');
const [port, count, bytes] = process.argv.slice(1);
for (let i = 0; i < Number(count); i++) {
  const socket = connect(Number(port), '127.0.0.1', () => {
    socket.write(Buffer.from(bytes, 'base64'), () => socket.resetAndDestroy());
  });
}
`;

/**
 * Opens connections to a server of this process, writes and resets them, all while this process stands still: the server accepts them
 * when they have been reset, and never reads an address.
 *
 * @param count at most 500: the system keeps no more for a server
 */
export function resetBeforeAccept(port: number, count: number, bytes: string | Buffer): void {
  const text = Buffer.from(bytes).toString('base64');
  const { status, stderr } = spawnSync(process.execPath, ['-e', RESETS, String(port), String(count), text]);
  if (status !== 0) throw new Error(`The clients failed: ${String(stderr)}`);
}
