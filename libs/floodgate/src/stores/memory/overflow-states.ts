import { flatten } from '../../util/flat-text.js';
import type { Charge } from '../charge.js';
import { bytesOf, type Entry, type Held, isHeld } from './entry.js';

/** Shared states kept at most: as many as an application has policies, unless a function makes policies at run time. */
const MAX_SHARED = 1_000;

/** The states that keys without room share: one for each policy. */
export class OverflowStates {
  private readonly entries = new Map<string, Entry>();

  /** @param grown called when the states take more bytes, or fewer */
  constructor(private readonly grown: (bytes: number) => void) {}

  get size(): number {
    return this.entries.size;
  }

  /** The shared state of a charge's policy. Two charges of one request never share a state. */
  of({ policyKey = '', algorithm }: Charge, held: readonly Held[]): Entry {
    let policy = `${algorithm.name}:${algorithm.rate}${policyKey}`;
    let entry = this.entries.get(policy);
    while (entry !== undefined && isHeld(entry, held)) entry = this.entries.get((policy += '+'));
    if (entry !== undefined) return entry;
    if (this.entries.size >= MAX_SHARED) this.forgetOldest();
    flatten(policy);
    entry = { key: '', algorithm, state: undefined, expiresAt: 0, seen: 0, home: undefined };
    this.entries.set(policy, entry);
    this.grown(bytesOf(policy, algorithm, undefined));
    return entry;
  }

  clear(): void {
    this.entries.clear();
  }

  private forgetOldest(): void {
    const [policy, { algorithm, state }] = this.entries.entries().next().value!;
    this.entries.delete(policy);
    this.grown(-bytesOf(policy, algorithm, state));
  }
}
