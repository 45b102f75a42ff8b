import { describe, expect, it, jest } from '@jest/globals';
import { useOneNode } from '../support/faults/by-node.js';
import { NodeScript } from '../../libs/floodgate/src/stores/redis/cluster/node-script.js';
import { Script } from '../../libs/floodgate/src/stores/redis/batch/script.js';
import { everySpecFor } from './conformance.js';

const node = useOneNode();
let stores = 0;
const byNode = jest.spyOn(NodeScript.prototype, 'decide');
const bySlot = jest.spyOn(Script.prototype, 'decide');

await everySpecFor({
  where: 'on a Cluster, by node',
  use: () => (options) => {
    stores++;
    return node.open(options);
  },
});

describe('the suite', () => {
  it('was decided by node', async () => {
    expect(stores).toBeGreaterThan(50);
    // By slot it settles, which is no decision, and decides nothing but the first questions of each store, before its probe.
    expect(byNode.mock.calls.length).toBeGreaterThan(5 * stores);
    expect(bySlot.mock.calls.length).toBeLessThan(2 * stores);
  });
});
