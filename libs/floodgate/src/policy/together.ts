import type { AlgorithmName } from '../algorithms/core/algorithm.js';
import { ALGORITHM_NAMES, algorithmEntry } from '../algorithms/algorithms.js';
import type { ParsedPolicy } from './parse-policy.js';
import { isWorker } from '../util/runtime.js';

/** What of a policy decides what it goes with. */
export type Combined = Pick<
  ParsedPolicy,
  | 'algorithm'
  | 'block'
  | 'by'
  | 'countIf'
  | 'elseName'
  | 'numbers'
  | 'prefetch'
  | 'settle'
  | 'shadow'
  | 'shards'
  | 'skipIf'
  | 'thresholds'
  | 'timeZone'
> & { readonly plans: unknown; readonly priorities: unknown };

type Has = (policy: Combined) => boolean;

const isA =
  (name: string): Has =>
  ({ algorithm }) =>
    algorithm.name === name;
/** A place, a call or a runtime: no option of the policy says it. */
const NOT_ITS_OWN: Has = () => false;

const OPTIONS = {
  'a calendar window': ({ numbers }) => typeof numbers.window === 'object',
  'a time zone by function': ({ timeZone }) => timeZone !== undefined,
  "by: 'global'": ({ by }) => by === 'global',
  'by a client': ({ by }) => by !== 'global',
  shards: ({ shards }) => shards > 1,
  plans: ({ plans }) => plans !== undefined,
  priorities: ({ priorities }) => priorities !== undefined,
  prefetch: ({ prefetch }) => prefetch !== undefined,
  else: ({ elseName }) => elseName !== undefined,
  'behind an else': NOT_ITS_OWN,
  blockFor: ({ block }) => block !== undefined,
  "mode: 'shadow'": ({ shadow }) => shadow,
  countIf: ({ countIf }) => countIf !== undefined,
  settle: ({ settle }) => settle !== undefined,
  thresholds: ({ thresholds }) => thresholds !== undefined,
  skipIf: ({ skipIf }) => skipIf !== undefined,
  schedule: NOT_ITS_OWN,
  'Cloudflare Workers': isWorker,
} as const satisfies Readonly<Record<string, Has>>;

export type Feature = AlgorithmName | keyof typeof OPTIONS;

/** What a policy may have or be, by its name in the documentation, and how to see it. */
export const FEATURES: Readonly<Record<Feature, Has>> = {
  ...(Object.fromEntries(ALGORITHM_NAMES.map((name) => [name, isA(name)])) as Record<AlgorithmName, Has>),
  ...OPTIONS,
};

/** Two features that do not go together, and the sentence that says why, and what to do instead. */
export type Refusal = readonly [one: Feature, other: Feature, why: string];

/** A pair that is in no list works. */
const OF_ALGORITHMS: readonly Refusal[] = ALGORITHM_NAMES.flatMap((name): readonly Refusal[] => {
  const { withPrefetch, whyNoPrefetch = 'it cannot prefetch tokens' } = algorithmEntry(name)!;
  return withPrefetch === undefined ? [['prefetch', name, `prefetch is not for a ${name}: ${whyNoPrefetch}`]] : [];
});

/** The pairs that boot refuses on one policy. */
export const ON_A_POLICY: readonly Refusal[] = [
  ...OF_ALGORITHMS,
  ['prefetch', 'shards', 'prefetch does not go with shards: choose prefetch, it spares Redis more'],
  ['prefetch', 'blockFor', 'prefetch does not go with blockFor: a block has to hold in all processes at once'],
  ['prefetch', "mode: 'shadow'", "prefetch does not go with mode: 'shadow': add it when the policy is enforced"],
  ['prefetch', 'countIf', 'prefetch does not go with countIf: only the store can settle'],
  ['prefetch', 'settle', 'prefetch does not go with settle: only the store can settle'],
  [
    'priorities',
    'prefetch',
    'priorities do not go with prefetch: a process does not know the class of tokens that it takes ahead',
  ],
  ['thresholds', 'prefetch', 'thresholds do not go with prefetch: tokens that are charged ahead are not used yet'],
  ['else', 'prefetch', 'else does not go with prefetch: the store has to see that a request does not fit'],
  [
    'else',
    'priorities',
    'else does not go with priorities: give each class a policy of its own, or the policy no else',
  ],
  ['else', 'blockFor', 'else does not go with blockFor: a client whose requests another policy takes would be blocked'],
  ['else', "mode: 'shadow'", "else has no effect with mode: 'shadow', which rejects nobody: leave it out"],
  ['countIf', 'settle', 'countIf and settle exclude each other: let settle return 0 for a request that does not count'],
  ['countIf', 'concurrency', 'countIf is not for a concurrency: its leases end with the request'],
  ['settle', 'concurrency', 'settle is not for a concurrency: its leases end with the request'],
  ['countIf', 'leaky-bucket', 'countIf is not for a leaky-bucket: its slot has passed then. Use a token-bucket'],
  ['settle', 'leaky-bucket', 'settle is not for a leaky-bucket: its slot has passed then. Use a token-bucket'],
  ['thresholds', 'concurrency', 'thresholds are not for a concurrency: its leases end with the request'],
  ['thresholds', 'shards', 'thresholds do not go with shards: no request sees all shards'],
  ['priorities', 'shards', 'priorities do not go with shards: a class fills its part of each shard apart'],
  [
    'priorities',
    'blockFor',
    'priorities do not go with blockFor: rejections of a lower class would block the higher ones',
  ],
  ['blockFor', 'shards', 'blockFor does not go with shards: its state is not split'],
  [
    'shards',
    'by a client',
    "shards are for policies that count all clients together: add by: 'global', or leave shards out",
  ],
  ['plans', 'shards', 'plans do not go with shards: they count all clients together'],
  [
    'a time zone by function',
    'shards',
    'window: a timeZone by function does not go with shards: they count all clients together',
  ],
  ['shards', 'leaky-bucket', 'shards are not for a leaky-bucket: its state cannot be split'],
  ['shards', 'concurrency', 'shards are not for a concurrency: its state cannot be split'],
  ['plans', "by: 'global'", "plans do not go with by: 'global': it counts all clients together"],
  [
    'a time zone by function',
    "by: 'global'",
    "window: a timeZone by function does not go with by: 'global': it counts all clients together",
  ],
  [
    'leaky-bucket',
    'Cloudflare Workers',
    'a leaky-bucket is not for Cloudflare Workers, where a request that waits may end unseen, and would keep its place: use a token-bucket',
  ],
  [
    'concurrency',
    'Cloudflare Workers',
    'a concurrency is not for Cloudflare Workers, where a request may end unseen, and would keep its lease: use a token-bucket',
  ],
];

/** The pairs that boot refuses on the policy that an `else` names. */
export const BEHIND_AN_ELSE: readonly Refusal[] = [
  ['behind an else', 'else', 'a policy behind an else has none of its own: let one policy take what does not fit'],
  [
    'behind an else',
    'leaky-bucket',
    'a policy behind an else is no leaky-bucket, for whose slot a request would have to wait: use a token-bucket',
  ],
  [
    'behind an else',
    "mode: 'shadow'",
    "a policy behind an else is not in shadow, which rejects nobody: leave out its mode: 'shadow'",
  ],
  [
    'behind an else',
    'skipIf',
    'a policy behind an else has no skipIf, which would let requests pass uncounted: give it to the first policy',
  ],
  ['behind an else', 'countIf', 'a policy behind an else has no countIf: give it to the first policy'],
  ['behind an else', 'settle', 'a policy behind an else has no settle: give it to the first policy'],
  ['behind an else', 'priorities', 'a policy behind an else has no priorities: give the classes policies of their own'],
  [
    'behind an else',
    'prefetch',
    'a policy behind an else has no prefetch: the store decides which policy takes a request',
  ],
  ['behind an else', 'blockFor', 'a policy behind an else has no blockFor: leave it out, or block in the middleware'],
];

/** The pairs that are refused on two policies of one request. */
export const BESIDE: readonly Refusal[] = [
  [
    'leaky-bucket',
    'leaky-bucket',
    'at most one leaky-bucket policy can delay a request, got several: name one of them a token-bucket',
  ],
  [
    'else',
    'blockFor',
    'a policy with blockFor does not stand beside one with else, whose requests are asked twice: put the block in the middleware, or on a ' +
      'route of its own',
  ],
];

/** The pairs that `RateLimiter.schedule` refuses. */
export const SCHEDULED: readonly Refusal[] = [
  [
    'schedule',
    'blockFor',
    'schedule does not go with blockFor: a call that waits for its turn is no offender. Leave blockFor out',
  ],
  ['schedule', 'else', 'schedule does not go with else: a call waits for its turn. Name the policy that it waits for'],
  [
    'schedule',
    'Cloudflare Workers',
    'schedule is not for Cloudflare Workers, where the calls of one request cannot wake those of another: call consume',
  ],
];

/** Why a policy, or a policy at a place, cannot have two of its features; undefined where all of them go together. */
export function whyNotTogether(policy: Combined, refusals = ON_A_POLICY, place?: Feature): string | undefined {
  const has = (feature: Feature): boolean => feature === place || FEATURES[feature](policy);
  return refusals.find(([one, other]) => has(one) && has(other))?.[2];
}

/** Why two policies of one request cannot stand beside each other; undefined where they can. */
export function whyNotBeside(one: Combined, other: Combined): string | undefined {
  const stand = (first: Feature, second: Feature): boolean => FEATURES[first](one) && FEATURES[second](other);
  return BESIDE.find(([first, second]) => {
    // A queue in shadow delays no request.
    if (first === second && (one.shadow || other.shadow)) return false;
    return stand(first, second) || stand(second, first);
  })?.[2];
}
