import type { Decided } from '../history.js';
import { headroomOf, policyOf, type PolicyName, POLICIES, SHARE } from '../policies.js';
import { decidedAt, epochOf } from '../times.js';
import { type Failure, faultsAround, isExcused, type Run, type Verdict } from './check.js';

/** The outcomes of a policy's requests. */
export interface PolicyRow {
  readonly policy: PolicyName;
  store: number;
  prefetch: number;
  'denial-cache': number;
  local: number;
  open: number;
  closed: number;
  override: number;
  admitted: number;
  /** Admissions that the textbook does not make. */
  over: number;
  overLocally: number;
  /** Decisions without Redis that no fault explains. */
  unexcused: number;
}

interface Admission {
  readonly decided: Decided;
  /** In microseconds, of one clock. */
  readonly at: number;
}

/**
 * Replays the admissions. Each subset of an exact history is exact. So a textbook that replays only the recorded admissions must
 * admit all of them, and lost answers cannot cause an alarm. There are two replays:
 *
 * - The admissions of Redis over all processes, in each epoch. The replay adds the admissions that a process made itself although
 *   no fault kept Redis from it, because Redis had to make them.
 * - The admissions that each process made itself, against its share of the limit.
 */
export function checkExactness(run: Run): { verdict: Verdict; rows: readonly PolicyRow[] } {
  const rows = new Map((Object.keys(POLICIES) as PolicyName[]).map((policy) => [policy, emptyRow(policy)]));
  const failures: Failure[] = [];
  const shared = new Map<string, Admission[]>();
  const local = new Map<string, Admission[]>();
  let unplaced = 0;
  for (const history of run.histories) {
    for (const decided of history.decided) {
      for (const policy of decided.policies) count(rows.get(policy)!, decided);
      const excused = decided.source === 'store' || decided.source === 'denial-cache' || isExcused(run, decided);
      if (!excused) {
        for (const policy of decided.policies) rows.get(policy)!.unexcused++;
        if (decided.source !== 'closed' || !decided.before) failures.push(unexcused(run, decided));
      }
      if (decided.source === 'store' && epochOf(decided, run.epochs, run.wallAheadMs) === undefined) {
        unplaced++;
        failures.push(misplaced(run, decided));
        continue;
      }
      // What is refunded later makes room for others. The rest of an exact history is exact without it.
      if (!decided.allowed || decided.request.refunded === true) continue;
      for (const policy of chargedBy(decided)) {
        if (policy === 'queue' && mayHaveLeft(decided)) continue;
        if (decided.source === 'local' && policyOf(policy).policy.onStoreFailure === 'local') {
          const key = `${history.name} ${policy} ${ownerOf(policy, decided)} ${SHARE}`;
          add(local, key, { decided, at: decided.at });
        }
        if (decided.source !== 'store' && excused) continue;
        const [index, at] = place(run, decided);
        add(shared, `${index} ${policy} ${ownerOf(policy, decided)} 1`, { decided, at });
      }
    }
  }
  const replay = (admissions: Map<string, Admission[]>, over: 'over' | 'overLocally'): void => {
    for (const [key, list] of admissions) {
      const [, policy, , share] = key.split(' ') as [epoch: string, PolicyName, owner: string, share: string];
      const beyond = beyondTextbook(policy, list, Number(share));
      rows.get(policy)![over] += beyond.length;
      for (const one of beyond) failures.push(overAdmission(run, policy, one, over));
    }
  };
  replay(shared, 'over');
  replay(local, 'overLocally');
  const sum = (field: 'over' | 'overLocally' | 'unexcused'): number =>
    [...rows.values()].reduce((total, row) => total + row[field], 0);
  const seen = `${sum('over')} over-admissions by the shared limits, ${sum('overLocally')} by local ones; ${sum('unexcused')} decisions without Redis that no fault explains, ${unplaced} answers from outside of their calls`;
  return { verdict: { name: 'exact', failures, seen }, rows: [...rows.values()] };
}

/** Whether a request over HTTP had no turn: its slot comes back when its client leaves, or its process closes. `checkQueue` sees the others. */
function mayHaveLeft({ request }: Decided): boolean {
  return request.id.startsWith('http-') && request.handledAt === undefined;
}

/** A request that is open for one policy and local for another is charged the latter only. */
function chargedBy({ source, policies, remaining }: Decided): readonly PolicyName[] {
  return source === 'local' ? policies.filter((policy) => policy in remaining) : policies;
}

/**
 * The admissions of one instant are one batch, or come from several of them, and no record tells their order. So they are asked in
 * the order in which most of them fit: they take the same from the limit in any order, and those that leave most of it free fit
 * best while it is least taken.
 */
function beyondTextbook(policy: PolicyName, admissions: Admission[], share: number): Admission[] {
  const textbook = policyOf(policy).textbook(share);
  const headroom = ({ decided }: Admission): number => headroomOf(policy, decided.request.priority, share);
  return admissions
    .toSorted((a, b) => a.at - b.at || headroom(b) - headroom(a))
    .filter((admission) => {
      const { at, decided } = admission;
      let allowed = true;
      for (let i = 0; i < decided.request.cost; i++) {
        allowed = textbook.ask(at, 1, headroom(admission)).allowed && allowed;
      }
      return !allowed;
    });
}

/** Returns the number of the epoch and the instant by Redis's clock, also for decisions without Redis. */
function place(run: Run, decided: Decided): [epoch: number, at: number] {
  const { epochs, wallAheadMs } = run;
  if (decided.source === 'store') return [epochs.indexOf(epochOf(decided, epochs, wallAheadMs)!), decided.at];
  const index = epochs.findLastIndex(({ from }) => from <= decided.decidedAt);
  return [index, Math.round((decided.decidedAt + epochs[index]!.aheadMs + wallAheadMs) * 1000)];
}

/** The owner of a state, by the identity that the client sent. A wrong key of the library would be another state. */
function ownerOf(policy: PolicyName, { request }: Decided): string {
  const { by } = policyOf(policy);
  return by === 'global' ? '' : by === 'user' ? request.user : request.address;
}

function emptyRow(policy: PolicyName): PolicyRow {
  const none = { store: 0, prefetch: 0, 'denial-cache': 0, local: 0, open: 0, closed: 0, override: 0, admitted: 0 };
  return { policy, ...none, over: 0, overLocally: 0, unexcused: 0 };
}

function count(row: PolicyRow, { source, allowed }: Decided): void {
  row[source]++;
  if (allowed) row.admitted++;
}

function add<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}

function describe({ request, process, source, before }: Decided): string {
  return `${process.name}, ${request.id} (${before ? 'gate' : request.policies.join(' + ')}), decided by ${source}`;
}

function unexcused(run: Run, decided: Decided): Failure {
  const around = faultsAround(run, decided.process.pod, decided.decidedAt);
  const text = `${describe(decided)}, although no fault kept Redis from the process; ${around}`;
  return { at: decided.decidedAt, text, kind: 'unexcused', path: decided.process.path };
}

function misplaced(run: Run, decided: Decided): Failure {
  const last = run.epochs.findLast(({ from }) => from <= decided.decidedAt)!;
  const off = decidedAt(decided, last, run.wallAheadMs) - decided.decidedAt;
  const text = `${describe(decided)} at an instant outside of the call: ${off.toFixed(3)} ms from its answer, which took ${decided.durationMs.toFixed(3)} ms`;
  return { at: decided.decidedAt, text, path: decided.process.path };
}

function overAdmission(run: Run, policy: PolicyName, { decided, at }: Admission, how: string): Failure {
  const around = faultsAround(run, decided.process.pod, decided.decidedAt);
  const text = `'${policy}' admitted ${describe(decided)} beyond its ${how === 'over' ? 'limit' : 'local share'}, at ${at}; ${around}`;
  return { at: decided.decidedAt, text, kind: `${how} ${policy}`, path: decided.process.path };
}
