/** A wrong line of the library. */
export interface CodeMutation {
  readonly title: string;
  /** The model whose traces have to find it. */
  readonly model: string;
  /** The end of the file's name. */
  readonly file: string;
  /** As it stands in the file once its types are gone. */
  readonly find: string;
  readonly replace: string;
}

/** All programs that Redis runs, as `npm run lua:bundle` writes them. */
const LUA = 'stores/redis/batch/programs.generated.ts';

export const CODE_MUTATIONS: readonly CodeMutation[] = [
  {
    title: 'a release does not wait for the renewal that is under way',
    model: 'leases',
    file: 'holds/leases/leases.ts',
    find: 'if (!this.isRenewing) this.free();',
    replace: 'this.free();',
  },
  {
    title: 'a lease in Redis is granted for its whole length',
    model: 'leases',
    file: LUA,
    find: 'stamp=now - window+d',
    replace: 'stamp=now',
  },
  {
    title: 'a renewal in memory leaves its old place taken',
    model: 'leases',
    file: 'algorithms/concurrency/concurrency.ts',
    find: 'log.instants.splice(this.last(log) - level.moved, level.moved);',
    replace: '',
  },
  {
    title: "a prefetch's time counts from the answer",
    model: 'prefetch',
    file: 'layers/prefetch/prefetched-tokens.ts',
    find: 'sentAt + length * DRIFT',
    replace: 'now + length * DRIFT',
  },
  {
    title: 'a bucket in Redis refills beyond what is prefetched',
    model: 'prefetch',
    file: LUA,
    find: 'debt=max(debt,(young+old)*q)',
    replace: 'debt=debt',
  },
  {
    title: 'a claim in Redis does not know its mark',
    model: 'reservations',
    file: LUA,
    find: "has=redis.call('ZREM',KEYS[1],mark)==1 or has",
    replace: "redis.call('ZREM',KEYS[1],mark)",
  },
  {
    title: 'a process settles although another one has claimed',
    model: 'reservations',
    file: 'holds/expiry/expiring-charges.ts',
    find: "if (claim === 'taken') return taken();",
    replace: "if (claim === 'taken') return reserved.settle(costs);",
  },
  {
    title: 'what a late answer of a slot has charged is not refunded',
    model: 'slots',
    file: 'stores/redis/cluster/cross-slot.ts',
    find: 'if (request.late) {',
    replace: 'if (false) {',
  },
  {
    title: 'both alternatives in Redis are charged',
    model: 'else',
    file: LUA,
    find: 'left=left - times',
    replace: 'left=left',
  },
];
