import { describe, it } from '@jest/globals';
import { useClusterPod } from '../support/faults/cluster-fixture.js';
import { expectLateGrantsBack } from '../support/faults/late-grants.js';
import { useSentinelPod } from '../support/faults/sentinel-fixture.js';

describe('a Cluster', () => {
  // No replica is promoted: a stopped node stays the owner of its slots until it resumes.
  const on = useClusterPod(['--cluster-node-timeout', '60000'], { deadline: 500 });

  it('what all its nodes grant after the deadline is given back at once', async () => {
    const masters = await on.cluster.masters();
    const users = await Promise.all(masters.map(async (master) => on.cluster.userOf(master, 'late')));
    await expectLateGrantsBack(on.pod, users, masters);
  });
});

describe('a master with Sentinels', () => {
  const on = useSentinelPod();

  it('what it grants after the deadline is given back at once', async () => {
    await expectLateGrantsBack(on.pod, ['late'], [await on.sentinel.master()]);
  });
});
