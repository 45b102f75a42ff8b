// Floodgate beside rate-limiter-flexible on a Cluster: npm run bench:cluster -- [--quick | --smoke] [--json] [--only <name prefix>].
// See ../README.md.
import { runBench } from '../command.js';
import { CLUSTER_FLOORS } from './floors.js';
import { startCluster } from './redis-cluster.js';
import { CLUSTER_SCENARIOS } from './scenarios.js';

/** Masters of each Cluster, smallest first. */
const SIZES = [1, 3, 6];

await runBench({
  command: 'npm run bench:cluster',
  floors: CLUSTER_FLOORS,
  scenarios: CLUSTER_SCENARIOS,
  startClusters: () => Promise.all(SIZES.map(startCluster)),
});
