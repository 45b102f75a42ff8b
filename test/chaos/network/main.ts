import { connect, type Socket } from 'node:net';
import { TcpProxy } from '../../support/faults/tcp-proxy.js';
import { answerCalls } from '../../../demo/processes/answer-calls.js';
import { now, type Span, StallMeter } from '../clock.js';

/** The faults of the network between a pod and Redis. */
export type Weather =
  | { readonly kind: 'fair' | 'black-hole' | 'replies-lost' | 'reset' | 'refuse' }
  | { readonly kind: 'delay' | 'late'; readonly ms: number }
  | { readonly kind: 'cut'; readonly times: number };

const PING_MS = 25;
/** A machine on which Redis takes so long to answer a PING is too busy for the checks. */
const SLOW_MS = 40;
const HOST = '127.0.0.1';

let proxies: TcpProxy[] = [];
let slow: Span[] = [];
let redisPort = 0;

/** The network between the pods and Redis. It has its own process, so that the rest of the run does not delay it. */
export const procedures = {
  /** @returns the ports at which the pods find Redis */
  async open({ port, count }: { port: number; count: number }): Promise<number[]> {
    redisPort = port;
    proxies = await Promise.all(Array.from({ length: count }, () => TcpProxy.start(port)));
    ping();
    return proxies.map((proxy) => proxy.port);
  },

  async set({ pod, weather }: { pod: number; weather: Weather }): Promise<void> {
    const proxy = proxies[pod]!;
    await proxy.pass();
    if (weather.kind === 'late') {
      proxy.reset();
      proxy.answerLate(weather.ms);
    }
    if (weather.kind === 'delay') proxy.delay(weather.ms);
    if (weather.kind === 'black-hole') proxy.blackHole();
    if (weather.kind === 'replies-lost') proxy.dropReplies();
    if (weather.kind === 'reset') proxy.reset();
    if (weather.kind === 'refuse') await proxy.refuse();
    if (weather.kind === 'cut') proxy.cut({ containing: 'evalsha', times: weather.times });
  },

  /** Resets the connections of a pod, once. */
  async reset(pod: number): Promise<void> {
    proxies[pod]!.reset();
    await proxies[pod]!.pass();
  },

  /** The times since the last call at which this process, or Redis without the proxies, was slow. */
  slow(): Span[] {
    return slow.splice(0);
  },
};

/** Sends PING to Redis again and again, without the proxies. Any answer counts. */
function ping(): void {
  let sentAt = 0;
  let socket: Socket | undefined;
  const open = (): void => {
    socket = connect(redisPort, HOST);
    sentAt = 0;
    socket.on('error', () => undefined);
    socket.on('close', () => setTimeout(open, PING_MS).unref());
    socket.on('data', () => {
      const at = now();
      if (at - sentAt > SLOW_MS) slow.push({ from: sentAt, to: at });
      sentAt = 0;
    });
  };
  open();
  setInterval(() => {
    if (sentAt !== 0 || socket?.writable !== true || socket.connecting) return;
    sentAt = now();
    socket.write('PING\r\n');
  }, PING_MS).unref();
}

const meter = new StallMeter((stall) => {
  if (stall.to - stall.from > SLOW_MS) slow.push(stall);
});
process.once('disconnect', () => meter.stop());
answerCalls(procedures);
