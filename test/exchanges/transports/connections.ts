import type { EventEmitter } from 'node:events';
import type { Server, Socket } from 'node:net';

/** All listeners of some objects. */
export function listenersOf(emitters: Iterable<EventEmitter>): number {
  let count = 0;
  for (const emitter of emitters) {
    for (const event of emitter.eventNames()) count += emitter.listenerCount(event);
  }
  return count;
}

/** The connections of a server: those that are open, and how many have closed. */
export class CountedConnections {
  readonly open = new Set<Socket>();
  closed = 0;

  constructor(server: Pick<Server, 'on'>) {
    server.on('connection', (socket: Socket) => {
      this.open.add(socket);
      socket.on('close', () => {
        this.open.delete(socket);
        this.closed++;
      });
    });
  }

  listeners(): number {
    return listenersOf(this.open);
  }
}
