import { Batcher } from './batch/batcher.js';
import type { Lane } from './batch/lane.js';
import type { Script } from './batch/script.js';
import type { QueueSettings, StoreQueue, Topology } from './topology.js';

/** One server, or a client that looks like one: all requests share a lane. */
export class OneServer implements Topology {
  private readonly lane: Lane;

  constructor(script: Script) {
    this.lane = { node: undefined, decide: (batch, call) => script.decide(batch, call) };
  }

  laneOf(): Lane {
    return this.lane;
  }

  laneOfKey(): Lane {
    return this.lane;
  }

  laneOfCharge(): Lane {
    return this.lane;
  }

  decidesAlternatives(): boolean {
    return true;
  }

  watch(): undefined {
    return undefined;
  }

  queue(settings: QueueSettings): StoreQueue {
    return new Batcher({ ...settings, routing: this });
  }
}
