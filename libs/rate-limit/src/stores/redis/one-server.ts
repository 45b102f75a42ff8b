import { Batcher } from './batch/batcher.js';
import type { Lane } from './batch/lane.js';
import { StoreRequest } from './batch/pending-request.js';
import type { Script } from './batch/script.js';
import type { Decider, DeciderSettings, Topology } from './topology.js';

/** One server, or a client that looks like one: all requests share a lane. */
export class OneServer implements Topology {
  readonly laneCount = 1;
  private readonly lane: Lane;

  constructor(script: Script) {
    this.lane = { node: undefined, decide: (batch, deadline) => script.decide(batch, deadline) };
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

  watch(): undefined {
    return undefined;
  }

  decider(settings: DeciderSettings): Decider {
    const { availability } = settings;
    const batcher = new Batcher({ ...settings, routing: this, settlesLate: false });
    return {
      decide(charges) {
        const unavailable = availability.check(charges);
        if (unavailable !== undefined) throw unavailable;
        return new Promise((resolve, reject) => batcher.add(new StoreRequest(charges, resolve, reject)));
      },
      settle: (settlement) => batcher.add(settlement),
      flush: batcher.flush,
    };
  }
}
