import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../support/random.js';
import { now } from '../clock.js';
import { ADDRESSES, RIDERS, type RouteName, ROUTES } from '../policies.js';
import type { Pod } from './pod.js';

/** The outcome of a request. */
export interface Sent {
  readonly id: string;
  readonly pod: number;
  readonly route: RouteName;
  readonly sentAt: number;
  /** The instant of the answer or the failure. */
  readonly endedAt: number;
  /** The HTTP status. 0 without an answer. */
  readonly status: number;
  readonly error: string;
}

const HOST = '127.0.0.1';
/** The mean pause between two requests to a pod. */
const PAUSE_MS = 80;
const PATIENCE_MS = 20_000;
export const NO_ANSWER = `no answer in ${PATIENCE_MS} ms`;
const NAMES = Object.keys(ROUTES) as RouteName[];

/** Sends HTTP requests to all pods, at a pace that does not depend on the answers. */
export class Load {
  readonly sent: Sent[] = [];
  private readonly agents = [HOST, ...ADDRESSES].map(
    (localAddress) => new Agent({ keepAlive: true, maxSockets: 500, localAddress }),
  );
  private readonly pending = new Set<Promise<void>>();
  private count = 0;
  private ended = false;

  constructor(
    private readonly pods: readonly Pod[],
    private readonly random: Random,
  ) {}

  async run(): Promise<void> {
    await Promise.all(this.pods.map((pod) => this.runOn(pod)));
    await Promise.all(this.pending);
    for (const agent of this.agents) agent.destroy();
  }

  end(): void {
    this.ended = true;
  }

  /** The identity and the address of a new request. */
  draw(route: RouteName): { id: string; headers: Record<string, string>; from: number } {
    const { random } = this;
    const id = `http-${this.count++}`;
    const from = 1 + random(ADDRESSES.length);
    const user = random(2) === 0 ? `once-${id}` : RIDERS[random(RIDERS.length)]!;
    const headers = { 'x-request-id': id, 'x-source': ADDRESSES[from - 1]! };
    return { id, from, headers: route === 'address' ? headers : { ...headers, 'x-user-id': user } };
  }

  private async runOn(pod: Pod): Promise<void> {
    while (!this.ended) {
      await delay(this.random(2 * PAUSE_MS));
      if (!pod.serves) continue;
      const route = NAMES[this.random(NAMES.length)]!;
      const sending = this.send(pod, route).finally(() => this.pending.delete(sending));
      this.pending.add(sending);
    }
  }

  private async send(pod: Pod, route: RouteName): Promise<void> {
    const { id, headers, from } = this.draw(route);
    const sentAt = now();
    const done = (status: number, error = ''): void => {
      this.sent.push({ id, pod: pod.index, route, sentAt, endedAt: now(), status, error });
    };
    await new Promise<void>((resolve) => {
      const options = { agent: this.agents[from]!, host: HOST, port: pod.port, path: `/${route}`, headers };
      const sending = request(options, (response) => {
        response.resume();
        response.on('end', () => done(response.statusCode!));
        response.on('error', (error) => done(0, error.message));
        response.on('close', resolve);
      });
      sending.setTimeout(PATIENCE_MS, () => sending.destroy(new Error(NO_ANSWER)));
      sending.on('error', (error) => {
        done(0, error.message);
        resolve();
      });
      sending.end();
    });
  }
}
