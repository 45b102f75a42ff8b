import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from '@jest/globals';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import type { Clock, RateLimitStore } from '../../libs/floodgate/src/stores/store.js';
import type { Tables } from '../../libs/floodgate/src/testing/conformance/instants.js';
import { type Law, type Laws, lawsOf } from '../../libs/floodgate/src/testing/conformance/laws.js';
import { Timeline } from '../../libs/floodgate/src/testing/conformance/timeline.js';
import { useRedis } from '../support/redis-fixture.js';

export { pass, reject, repeat, SECOND } from '../../libs/floodgate/src/testing/conformance/instants.js';

/** A kind of store that runs the suite. */
export interface Kind {
  /** The end of the titles, such as `in memory`. */
  readonly where: string;
  /** Registers hooks in the current `describe`, and returns a function that opens an empty store in a test. */
  readonly use: () => (options: { clock: Clock; maxSkew: number }) => RateLimitStore;
}

const EVERY_KIND: readonly Kind[] = [
  { where: 'in memory', use: () => (options) => new MemoryStore(options) },
  {
    where: 'in Redis',
    use: () => {
      const redis = useRedis();
      return (options) => new RedisStore(redis.client, options);
    },
  },
];

let kinds = EVERY_KIND;

/** Declares the tests of the suite's files for this kind alone, such as a server with its own settings. */
export async function everySpecFor(kind: Kind): Promise<void> {
  kinds = [kind];
  for (const file of readdirSync(import.meta.dirname).filter((name) => name.endsWith('.spec.ts'))) {
    // Only the specs that run against any store.
    const text = readFileSync(join(import.meta.dirname, file), 'utf8');
    const isSuite = /^(conform|describeForEveryStore)\(/m.test(text);
    // With a query the module is another one: it declares its tests again.
    if (isSuite) await import(`./${file.replace(/\.ts$/, '.js')}?${encodeURIComponent(kind.where)}`);
  }
  kinds = EVERY_KIND;
}

/** Registers the laws as tests of every kind of store. */
export function describeForEveryStore(title: string, laws: Laws): void {
  for (const { where, use } of kinds) {
    describe(`${title}, ${where}`, () => {
      const open = use();
      const expectHolds = (law: Law): Promise<void> => law((maxSkewMs) => Timeline.open(open, maxSkewMs));
      it.each(Object.entries(laws))('%s', (_, law) => expectHolds(law));
    });
  }
}

/** Registers one test for each table: every store gives exactly the verdicts of the table. */
export function conform(title: string, tables: Tables): void {
  describeForEveryStore(title, lawsOf(tables));
}
