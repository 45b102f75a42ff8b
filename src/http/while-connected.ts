import type { Socket } from 'node:net';
import { RequestTimeoutException } from '@nestjs/common';

/**
 * Runs a job that takes long, and aborts it when its client leaves.
 *
 * @param job gets a signal that is aborted when the client leaves
 * @throws RequestTimeoutException after the client has left. Nobody reads this answer, but Nest would log any other error.
 */
export async function whileConnected<T>(socket: Socket, job: (gone: AbortSignal) => Promise<T>): Promise<T> {
  const client = new AbortController();
  const leave = (): void => client.abort();
  socket.once('close', leave);
  if (socket.destroyed) leave();
  try {
    return await job(client.signal);
  } catch (error) {
    throw client.signal.aborted ? new RequestTimeoutException() : error;
  } finally {
    socket.off('close', leave);
  }
}
