import type {
  OverrideChanges,
  OverrideLog,
  OverrideOutcome,
  OverrideRecord,
  OverrideRecords,
  OverrideWrite,
} from '../../stores/override-log.js';
import { type IdentitySecret, isBare } from './identity-secret.js';

/** An override as it stands in the log. */
interface Kept {
  readonly id: string;
  readonly record: OverrideRecord;
}

/** Overrides to read in one call. */
const PAGE = 1000;

/**
 * A log of overrides that does not show whom they are about: ids are digests, bodies and notices are encrypted.
 *
 * It finds what was written under a previous secret, or under none, and a change writes it anew under the current one. That takes two
 * steps: until the second one, the override is not there.
 */
export class SealedOverrideLog implements OverrideLog {
  /** Whether overrides from before there was a secret were seen. Their ids name identities, which are asked for with them alone. */
  private hasBare = false;
  /** The version up to which overrides were searched for such ones: those that a process reads when it boots. */
  private searchedTo = 0;

  constructor(
    private readonly log: OverrideLog,
    private readonly secret: IdentitySecret,
  ) {}

  get shared(): boolean {
    return this.log.shared;
  }

  async poll(known: string, heard: string): Promise<OverrideChanges> {
    const changes = await this.log.poll(known, heard);
    return { ...this.decrypted(changes), notices: changes.notices?.map((notice) => this.secret.decrypt(notice)) };
  }

  tell(notice: string): Promise<string> {
    return this.log.tell(this.secret.encrypt(notice));
  }

  async page(after: number, count: number): Promise<OverrideRecords> {
    const page = await this.log.page(after, count);
    if (after <= this.searchedTo) {
      this.hasBare ||= page.records.some(({ body }) => isBare(body));
      this.searchedTo = Math.max(this.searchedTo, page.records.at(-1)?.version ?? 0);
    }
    return this.decrypted(page);
  }

  async history(before: number | undefined, count: number): Promise<OverrideRecords> {
    return this.decrypted(await this.log.history(before, count));
  }

  async get(id: string): Promise<OverrideRecord | undefined> {
    const [newest] = await this.keptOf(id);
    return newest && this.decryptedRecord(newest.record);
  }

  async set({ id, ifVersion, body }: OverrideWrite, ttlMs: number | undefined): Promise<OverrideOutcome> {
    const kept = await this.keptOf(id);
    const conflict = conflictOf(ifVersion, kept);
    if (conflict !== undefined) return conflict;
    const [current] = this.secret.digestsOf(id);
    const older = kept.filter((one) => one.id !== current);
    const write: OverrideWrite = { id: current!, body: this.secret.encrypt(body), ifVersion };
    // A removal that came later would end the new one: all of them have the same name in the processes.
    const removed = await this.removeAll(older, write);
    if (removed.outcome === 'conflict') return removed;
    const there = kept.find((one) => one.id === current)?.record.version ?? 0; // an older one may have a later version
    const outcome = await this.log.set({ ...write, ifVersion: ifVersion === undefined ? undefined : there }, ttlMs);
    return this.decryptedOutcome(outcome);
  }

  async remove({ id, ifVersion, body }: OverrideWrite): Promise<OverrideOutcome> {
    const kept = await this.keptOf(id);
    const conflict = conflictOf(ifVersion, kept);
    if (conflict !== undefined) return conflict;
    const write: OverrideWrite = { id: this.secret.digestsOf(id)[0]!, ifVersion, body: this.secret.encrypt(body) };
    return kept.length === 0 ? this.log.remove(write) : this.decryptedOutcome(await this.removeAll(kept, write));
  }

  /** Removes overrides; those that have changed meanwhile only where the write names no version. */
  private async removeAll(all: readonly Kept[], { ifVersion, body }: OverrideWrite): Promise<OverrideOutcome> {
    let outcome: OverrideOutcome = { outcome: 'none' };
    for (const { id, record } of all) {
      outcome = await this.log.remove({ id, ifVersion: ifVersion === undefined ? undefined : record.version, body });
      if (outcome.outcome === 'conflict') break;
    }
    return outcome;
  }

  /** The override of this id under each secret and under none, the newest one first: processes may have different secrets. */
  private async keptOf(id: string): Promise<readonly Kept[]> {
    await this.search();
    const ids = this.secret.digestsOf(id);
    const found = await Promise.all(
      (this.hasBare ? [...ids, id] : ids).map(async (one) => ({ id: one, record: await this.log.get(one) })),
    );
    return found
      .filter((one): one is Kept => one.record !== undefined)
      .toSorted((a, b) => b.record.version - a.record.version);
  }

  /** Reads the overrides that were not searched yet. */
  private async search(): Promise<void> {
    while (!this.hasBare && (await this.page(this.searchedTo, PAGE)).records.length > 0);
  }

  private decrypted<Records extends OverrideRecords>(found: Records): Records {
    return { ...found, records: found.records.map((record) => this.decryptedRecord(record)) };
  }

  private decryptedOutcome(outcome: OverrideOutcome): OverrideOutcome {
    return outcome.outcome === 'changed' ? { ...outcome, record: this.decryptedRecord(outcome.record) } : outcome;
  }

  private decryptedRecord(record: OverrideRecord): OverrideRecord {
    return { ...record, body: this.secret.decrypt(record.body) };
  }
}

function conflictOf(ifVersion: number | undefined, [newest]: readonly Kept[]): OverrideOutcome | undefined {
  const version = newest?.record.version ?? 0;
  return ifVersion === undefined || ifVersion === version ? undefined : { outcome: 'conflict', version };
}
