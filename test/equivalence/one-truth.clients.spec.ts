import { describe, it } from '@jest/globals';
import { assert, asyncProperty } from 'fast-check';
import { ALL_ALGORITHMS } from '../support/algorithm-of.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';
import { giveToThree } from './give-to-three.js';
import { chargesOf, historiesOf } from './histories.js';

const redis = useRedis();

describe('one truth: memory, Redis by requests and Redis by turns give the same decisions, field by field', () => {
  it.each(ALL_ALGORITHMS)(
    '%s',
    async (name) => {
      const law = asyncProperty(historiesOf(name), (history) =>
        giveToThree(redis.client, history, (prefix) => chargesOf(history, prefix)),
      );
      await assert(law, histories());
    },
    HISTORY_TIMEOUT_MS,
  );
});
