import * as fc from 'fast-check';

/** A client asks through a pod, works, and says what it has cost. A strategy uses what it needs of it. */
export interface Ask {
  readonly do: 'ask';
  readonly pod: number;
  /** The number of the client. */
  readonly who: number;
  readonly cost: number;
  /** Milliseconds until the work ends. */
  readonly workMs: number;
  /** `'never'`: nobody says that it has ended. */
  readonly ending: 'settle' | 'cancel' | 'never';
  readonly finalCost: number;
  /** Milliseconds after which its reservation expires. */
  readonly expiresMs: number | null;
}

/** An operator sets an override through a pod, or removes it (`limit: null`). */
export interface Operate {
  readonly do: 'operate';
  readonly pod: number;
  /** The number of the client; null: everyone. */
  readonly who: number | null;
  readonly limit: number | null;
}

/** What goes wrong, for so many milliseconds. */
export type Trouble =
  /** The network loses what a pod sends or gets, or both. The connection ends with it. */
  | { readonly do: 'lose'; readonly pod: number; readonly way: 'there' | 'back' | 'both'; readonly ms: number }
  /** The network holds what a pod sends or gets. */
  | { readonly do: 'delay'; readonly pod: number; readonly way: 'there' | 'back' | 'both'; readonly ms: number }
  /** The connection of a pod is reset. */
  | { readonly do: 'cut'; readonly pod: number }
  /** Redis is away, keeps its data, and has forgotten the programs. */
  | { readonly do: 'restart'; readonly ms: number }
  /** Redis serves nothing. */
  | { readonly do: 'hang'; readonly ms: number }
  /** SCRIPT FLUSH: the one thing for which the library sends a call twice. */
  | { readonly do: 'flush' }
  /** The wall clock of Redis steps. */
  | { readonly do: 'step'; readonly ms: number }
  /** SIGKILL; another process starts in its place after `ms`. */
  | { readonly do: 'kill'; readonly pod: number; readonly ms: number }
  /** The pod closes its limiter and ends; another one starts at once. */
  | { readonly do: 'close'; readonly pod: number }
  /** The event loop of a pod stands still. */
  | { readonly do: 'stall'; readonly pod: number; readonly ms: number };

/** An event, and the milliseconds since the one before it. */
export type Event = (Ask | Operate | Trouble) & { readonly after: number };

/** All that happens in a run. */
export interface Story {
  readonly pods: number;
  readonly events: readonly Event[];
}

const MOST_PODS = 3;
const MOST_EVENTS = 40;
const MOST_TROUBLES = 4;

/** A call is under way for a third of a millisecond or so. */
const after = fc.oneof(fc.constant(0), fc.constant(0), fc.constantFrom(0.2, 0.3, 0.4, 0.5), fc.nat(5), fc.nat(400));
const pod = fc.nat(MOST_PODS - 1);
const way = fc.constantFrom('there' as const, 'back' as const, 'both' as const);
/** Short: within the deadline, or within what a connection may be silent. */
const ms = fc.oneof(
  fc.integer({ min: 1, max: 80 }),
  fc.integer({ min: 80, max: 240 }),
  fc.integer({ min: 240, max: 2_500 }),
);

const ask: fc.Arbitrary<Event> = fc.record({
  do: fc.constant('ask' as const),
  after,
  pod,
  who: fc.nat(1),
  cost: fc.integer({ min: 1, max: 3 }),
  workMs: fc.oneof(fc.nat(20), fc.nat(600), fc.nat(4_000)),
  ending: fc.constantFrom('settle' as const, 'settle' as const, 'cancel' as const, 'never' as const),
  finalCost: fc.nat(5),
  expiresMs: fc.option(fc.integer({ min: 50, max: 2_500 }), { nil: null }),
});

const operate: fc.Arbitrary<Event> = fc.record({
  do: fc.constant('operate' as const),
  after,
  pod,
  who: fc.option(fc.nat(1), { nil: null }),
  limit: fc.option(fc.nat(9), { nil: null }),
});

const trouble: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ do: fc.constant('lose' as const), after, pod, way, ms }),
  fc.record({ do: fc.constant('delay' as const), after, pod, way, ms }),
  fc.record({ do: fc.constant('cut' as const), after, pod }),
  fc.record({ do: fc.constant('cut' as const), after, pod }),
  fc.record({ do: fc.constant('restart' as const), after, ms }),
  fc.record({ do: fc.constant('hang' as const), after, ms }),
  fc.record({ do: fc.constant('flush' as const), after }),
  fc.record({ do: fc.constant('step' as const), after, ms: fc.integer({ min: -2_500, max: 2_500 }) }),
  fc.record({ do: fc.constant('kill' as const), after, pod, ms }),
  fc.record({ do: fc.constant('kill' as const), after, pod, ms }),
  fc.record({ do: fc.constant('close' as const), after, pod }),
  fc.record({ do: fc.constant('stall' as const), after, pod, ms }),
);

/**
 * Random stories.
 *
 * @param operates whether an operator sets overrides
 * @param excluded what does not go wrong; default nothing
 */
export function stories(operates: boolean, excluded: readonly Trouble['do'][] = []): fc.Arbitrary<Story> {
  const use = operates ? fc.oneof({ weight: 8, arbitrary: ask }, { weight: 3, arbitrary: operate }) : ask;
  const wrong = fc.record({
    before: fc.nat(MOST_EVENTS),
    event: trouble.filter((event) => !excluded.includes(event.do as Trouble['do'])),
  });
  return fc
    .record({
      pods: fc.integer({ min: 1, max: MOST_PODS }),
      uses: fc.array(use, { minLength: 1, maxLength: MOST_EVENTS, size: 'max' }),
      troubles: fc.array(wrong, { maxLength: MOST_TROUBLES, size: 'max' }),
    })
    .map(({ pods, uses, troubles }) => {
      const events = [...uses];
      for (const { before, event } of troubles) events.splice(before, 0, event);
      return { pods, events };
    });
}
