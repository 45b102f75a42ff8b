import type { Algorithm } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import { asBatch } from './lean-calls.js';
import { readPolicies, type WirePolicy } from './wire-policies.js';
import { type Call, DELETE, type Executed, type Executor } from './server.js';

/** On the wire: another charge of the same request follows. */
const MORE = 64;
/** Texts of policies that are kept. */
const MAX_KNOWN = 1000;
/** Bytes of a charge in ARGV[4]. */
const CHARGE_BYTES = 4;

/** A key of a call. */
interface KeyLevel {
  readonly key: string;
  readonly policy: WirePolicy;
  level: unknown;
  /** Whether the state has to be written. */
  changed: boolean;
}

/** A settlement of ARGV[5]. The header of lua/program.lua describes it. */
type Settlement = [at: number, resetAt: number, cost: number, finalCost: number, overdraft: number, ...number[]];

/** What a key was charged. */
export interface Charged {
  readonly algorithm: Algorithm;
  cost: number;
}

/**
 * What lua/program.lua does, by the library's own algorithms: it reads the same arguments, keeps states, and gives the same reply.
 * A test compares it with a real Redis on random histories.
 */
export class ProgramTwin implements Executor {
  private readonly states = new Map<string, unknown>();
  private readonly known = new Map<string, readonly WirePolicy[]>();
  /** What was charged since somebody asked. */
  private charged = new Map<string, Charged>();

  execute(call: Call, redisNow: number): Executed {
    const { keys, args } = asBatch(call);
    if (call.script === DELETE) return { reply: keys.filter((key) => this.states.delete(key)).length, rows: 1 };
    const [clock, skew, policyText, charges, settlements] = args as [string, string, string, string, string?];
    const now = clock === 'redis' ? redisNow : Number(clock);
    const policies = this.policiesOf(policyText);
    const levels: (KeyLevel | undefined)[] = keys.map(() => undefined);
    const settled = settlements ? settlementsOf(settlements) : [];
    const reply = [now];
    let rows = 0;
    for (let at = 0; at < charges.length; rows++) {
      if (countOf(charges, at) === 0) {
        at = eachCharge(charges, at, (policy, k) => {
          const [key, held] = [keys[k - 1]!, levels[k - 1]];
          if (held?.changed === true) this.write(key, held, now);
          levels[k - 1] = undefined; // what the settlement leaves is read again
          reply.push(...this.settle(key, policies[policy - 1]!, settled.shift()!, now, Number(skew)));
        });
        continue;
      }
      at = this.decideRow(
        charges,
        at,
        (policy, k) => {
          return (levels[k - 1] ??= this.read(keys[k - 1]!, policies[policy - 1]!, now, Number(skew)));
        },
        policies,
        reply,
      );
    }
    for (const [k, held] of levels.entries()) if (held?.changed === true) this.write(keys[k]!, held, now);
    return { reply, rows };
  }

  /** What a key stores; undefined where there is nothing. */
  stateOf(key: string): unknown {
    return this.states.get(key);
  }

  /** What each key was charged since this was called last, beside debits. For what the simulation alone has. */
  chargedSinceAsked(): ReadonlyMap<string, Charged> {
    const { charged } = this;
    this.charged = new Map();
    return charged;
  }

  /** Charges a key whether it fits or not. For what the simulation alone has. */
  debit(key: string, { algorithm, cost }: Charged, now: number): void {
    const level = algorithm.charge(algorithm.read(this.states.get(key), now, 0), cost);
    this.states.set(key, algorithm.write(level, now, this.states.get(key)));
  }

  /** Returns what was refunded, in parts of a unit of cost, and what was charged. */
  private settle(
    key: string,
    policy: WirePolicy,
    [at, resetAt, cost, finalCost, overdraft, ...marker]: Settlement,
    now: number,
    skew: number,
  ): [refunded: number, charged: number] {
    const { algorithm } = policy;
    const held = this.read(key, policy, now, skew);
    const state = this.states.get(key);
    const more = finalCost - cost;
    // In a state that lay too far ahead, the charge cannot be found.
    const refundable = more < 0 && state !== undefined && !held.changed;
    const mark = { cost, at, resetAt, refundMarker: marker.length > 0 ? marker : undefined };
    const refunded = refundable ? algorithm.refunds!.refund(state, now, -more, mark) : 0;
    const charged = Math.max(0, Math.min(more, algorithm.overdraft?.room(held.level, overdraft) ?? 0));
    if (charged > 0) held.level = algorithm.charge(held.level, charged);
    if (charged > 0 || (more > 0 && held.changed)) this.write(key, held, now);
    return [refunded, charged];
  }

  private count(key: string, { algorithm, take }: WirePolicy): void {
    const known = this.charged.get(key);
    if (known === undefined) this.charged.set(key, { algorithm, cost: take });
    else known.cost += take;
  }

  private policiesOf(text: string): readonly WirePolicy[] {
    let policies = this.known.get(text);
    if (policies === undefined) {
      policies = readPolicies(text);
      // Charges that prefetch differ each time.
      if (this.known.size < MAX_KNOWN) this.known.set(text, policies);
    }
    return policies;
  }

  /** Decides a number of identical requests, and returns where the next row begins. */
  private decideRow(
    charges: string,
    first: number,
    levelOf: (policy: number, key: number) => KeyLevel,
    policies: readonly WirePolicy[],
    reply: number[],
  ): number {
    const row: { readonly held: KeyLevel; readonly policy: WirePolicy }[] = [];
    const count = countOf(charges, first);
    const at = eachCharge(charges, first, (policy, k) => {
      row.push({ held: levelOf(policy, k), policy: policies[policy - 1]! });
    });
    // The reply has the levels before the first of the requests.
    for (const { held, policy } of row) reply.push(...policy.encode(held.level as never));
    for (let i = 0; i < count; i++) {
      if (!row.every(({ held, policy }) => hasRoom(policy, held.level))) break;
      for (const { held, policy } of row) {
        if (policy.take === 0) continue;
        held.level = policy.algorithm.charge(held.level, policy.take);
        held.changed = true;
        this.count(held.key, policy);
      }
    }
    return at;
  }

  private read(key: string, policy: WirePolicy, now: number, skew: number): KeyLevel {
    const state = this.states.get(key);
    const { algorithm } = policy;
    const changed = state !== undefined && algorithm.isAhead(state, now, skew);
    return { key, policy, level: algorithm.read(state, now, skew), changed };
  }

  private write(key: string, { policy, level }: KeyLevel, now: number): void {
    this.states.set(key, policy.algorithm.write(level, now, this.states.get(key)));
  }
}

/** Whether one more request passes: it needs `ask` and takes `take`. */
function hasRoom({ algorithm, ask, take }: WirePolicy, level: unknown): boolean {
  const cost = take > 0 ? take : 1;
  return algorithm.fits(level, cost, ask - cost);
}

/** How many identical requests a row of ARGV[4] has; 0: it settles charges. */
function countOf(charges: string, first: number): number {
  return charges.charCodeAt(first + 2) * 128 + charges.charCodeAt(first + 3);
}

/** Calls `run` with the policy and the key of each charge of a row. Returns where the next row begins. */
function eachCharge(charges: string, first: number, run: (policy: number, key: number) => void): number {
  let at = first;
  for (let more = true; more; at += CHARGE_BYTES) {
    const policy = charges.charCodeAt(at);
    more = policy >= MORE;
    run(policy % MORE, charges.charCodeAt(at + 1));
  }
  return at;
}

/** The settled charges of ARGV[5], whose numbers stand in one row: the sixth says how many the refund marker has. */
function settlementsOf(text: string): Settlement[] {
  const numbers = JSON.parse(text) as number[];
  const settlements: Settlement[] = [];
  for (let at = 0; at < numbers.length;) {
    const [instant, resetAt, cost, finalCost, overdraft, length] = numbers.slice(at, at + 6) as [number, ...number[]];
    at += 6;
    settlements.push([instant, resetAt!, cost!, finalCost!, overdraft!, ...numbers.slice(at, (at += length!))]);
  }
  return settlements;
}
