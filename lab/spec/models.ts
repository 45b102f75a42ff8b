import { readFileSync } from 'node:fs';

/** A wrong line: what a check has to find. */
export interface Mutation {
  /** What would go wrong. */
  readonly title: string;
  /** Occurs once in the source. */
  readonly find: string;
  readonly replace: string;
  /** Whether only the larger checks show it. */
  readonly isDeep?: true;
}

export interface Model {
  readonly name: string;
  /** The macros of each check. The traces are those of the first. */
  readonly variants: readonly (readonly string[])[];
  /** Further checks that take longer: `npm run spec` makes them, and no test. Default none. */
  readonly larger?: readonly (readonly string[])[];
  readonly mutations: readonly Mutation[];
  /** Wrong assertions: the shortest histories to them are traces, too, where random steps seldom lead there. Default none. */
  readonly goals?: readonly Mutation[];
}

/** What `npm run spec` checks. The header of each file in models/ says what it is about. */
export const MODELS: readonly Model[] = [
  {
    name: 'leases',
    variants: [[], ['HOLDERS=2', 'LOST_RENEWALS']],
    mutations: [
      {
        title: 'a lease is granted for its whole length, so that a lost answer keeps the place',
        find: 'new = GRANTED;',
        replace: 'new = WHOLE;',
      },
      {
        title: 'a renewal that finds its lease ended takes another one, free or not',
        find: 'if :: used < LIMIT -> new = WHOLE :: else fi',
        replace: 'new = WHOLE',
      },
      {
        title: 'a release does not wait for the renewal that is under way',
        find: 'state[i] = leaving; outcome = late;',
        replace: 'free(ends[i]); state[i] = leaving; outcome = late;',
      },
      {
        title: 'a renewal leaves its old place taken',
        find: 'places[ends[i]]--; new = WHOLE',
        replace: 'new = WHOLE',
      },
      {
        title: 'a lease that came too late is not given back',
        find: 'free(told[i]); leave(); log(arrive)',
        replace: 'leave(); log(arrive)',
      },
    ],
  },
  {
    name: 'prefetch',
    variants: [['LENGTH=2']],
    larger: [[]],
    mutations: [
      {
        title: 'the bucket refills beyond what is prefetched',
        find: 'if :: debt < young + old -> debt = young + old :: else fi;',
        replace: '',
      },
      {
        title: 'a pod uses its tokens for twice as long as they are meant to last',
        find: 'left[me] = LENGTH; n = unused[me];',
        replace: 'left[me] = 2 * LENGTH; n = unused[me];',
        isDeep: true,
      },
      {
        title: 'a prefetch counts for its own generation alone',
        find: 'old = young; young = 0;',
        replace: 'old = 0; young = 0;',
        isDeep: true,
      },
      {
        title: 'a settlement may be sent again',
        find: ':: d_step { calling[me] -> forget(me); log(lose, me) }',
        replace: ':: d_step { calling[me] -> decide(me); log(lose, me) }',
      },
    ],
  },
  {
    name: 'reservations',
    variants: [[]],
    goals: [
      {
        title: 'a process that sweeps has the reservation, and its own process charges the rest',
        find: 'log(beyond, 0); check()',
        replace: 'log(beyond, 0); assert(written != well || n == 0 || state[1] != settling)',
      },
    ],
    mutations: [
      {
        title: 'a claim leaves no mark, so that its second question is answered as if another process had it',
        find: 'if :: now + KEEP >= DUE -> mark = who + 1 :: else fi',
        replace: 'skip',
      },
      {
        title: 'the process settles although another one has claimed',
        find: ':: outcome == taken ->\n    more = 0;',
        replace: ':: outcome == taken -> claimants++; state[0] = settling\n  :: false ->\n    more = 0;',
      },
      {
        title: 'a claim does not take the reservation out of the log',
        find: ':: inLog -> inLog = false; outcome = own;',
        replace: ':: inLog -> outcome = own;',
      },
      {
        title: 'a late settlement charges the whole final cost again',
        find: 'if :: late && hasFinal && final > REST -> more = final - REST;',
        replace: 'if :: late && hasFinal && final > REST -> more = final;',
      },
    ],
  },
  {
    name: 'slots',
    variants: [['TOTAL=2'], []],
    mutations: [
      {
        title: 'requests ask the slots in differing orders',
        find: 'if :: second[me] -> k = ALL :: else -> k = row[me] fi',
        replace: 'if :: second[me] == (me == 0) -> k = ALL :: else -> k = row[me] fi',
      },
      {
        title: 'what a late answer has charged is not refunded',
        find: 'if :: fits[me] -> refunds[k]++ :: else fi;',
        replace: '',
      },
      {
        title: 'a rejected request is refunded at its rejection and once more',
        find: 'verdict[me] = rejected; undo(me)',
        replace: 'verdict[me] = rejected; undo(me); undo(me)',
      },
      {
        title: 'the alternative is asked beside the first policy, and keeps what it has charged',
        find: ':: !fits[me] && !second[me] && row[me] == OWN ->',
        replace: ':: !fits[me] && row[me] == OWN ->',
      },
    ],
  },
  {
    name: 'else',
    variants: [[]],
    mutations: [
      { title: 'a request is charged by both alternatives', find: 'b = n - a;', replace: 'b = n;' },
      {
        title: 'a request that fits no third policy is charged by the first two',
        find: 'least(n, ALL - used[2]);',
        replace: 'least(times, ALL - used[2]); used[2] = used[2] - n + times;',
      },
      {
        title: 'a late answer is given back by the other alternative',
        find: 'awaited[k]--; used[k]--;',
        replace: 'awaited[k]--; used[1 - k]--;',
      },
    ],
  },
];

export const FOLDER = new URL('./', import.meta.url);

export function sourceOf({ name }: Model): string {
  return readFileSync(new URL(`models/${name}.pml`, FOLDER), 'utf8');
}

/** @throws {Error} when the text to be replaced does not occur once */
export function mutated(source: string, { title, find, replace }: Mutation): string {
  const parts = source.split(find);
  if (parts.length !== 2) throw new Error(`'${title}': ${JSON.stringify(find)} occurs ${parts.length - 1} times`);
  return parts.join(replace);
}
