import { describe, it } from '@jest/globals';
import { array, assert, boolean, constantFrom, nat, option, property, record } from 'fast-check';
import { expectSame } from '../../../../test/support/expect-same.js';
import { histories } from '../../../../test/support/property-runs.js';
import { BlockAlgorithm } from '../algorithms/block/block.js';
import { EscalatingBlockAlgorithm } from '../algorithms/block/escalating-block.js';
import { FixedWindow } from '../algorithms/fixed-window/fixed-window.js';
import { copyOf, type Found, judge, judgeRejected } from './judge.js';

const AT = 1_000_000_000;
const LEFT = 400;
const WINDOW = new FixedWindow(3, 1_000);
const BLOCKS = [new BlockAlgorithm(2, 300), new BlockAlgorithm(1, 500), new EscalatingBlockAlgorithm(2, [300, 900])];
const NO_BLOCK = { blockedFor: undefined, blockStep: undefined };

const member = record({
  used: nat(3),
  cost: nat(4),
  headroom: nat(1),
  mode: constantFrom('take', 'take', 'peek', 'reserve'),
  block: option(
    record({ algorithm: constantFrom(...BLOCKS), count: nat(2), left: constantFrom(100, 700), cost: nat(1) }),
  ),
});
type Member = typeof member extends { map: (mapper: (value: infer T) => unknown) => unknown } ? T : never;

/** A policy with its alternatives, or a shadow alone. */
const row = array(record({ shadow: boolean(), members: array(member, { minLength: 1, maxLength: 3 }) }), {
  minLength: 1,
});

function foundOf({ used, cost, headroom, mode, block }: Member, shadow: boolean, place: number): Found {
  const { algorithm, count = 0, left = 0 } = block ?? {};
  const level =
    count === 0 ? algorithm?.read(undefined, AT, 0) : { left, count, ...(algorithm === BLOCKS[2] && { step: 1 }) };
  return {
    charge: { key: 'k', algorithm: WINDOW, cost, headroom, mode, shadow, alternative: place > 0 },
    level: { count: used, left: LEFT },
    refundMarker: [used],
    block: algorithm && { charge: { key: 'b', algorithm, cost: block!.cost }, level: level! },
  };
}

const rowOf = (policies: readonly { readonly shadow: boolean; readonly members: readonly Member[] }[]): Found[] =>
  policies.flatMap(({ shadow, members }) => members.map((one, place) => foundOf(one, shadow, place)));

const isBlocked = ({ block }: Member): boolean => block !== null && block.count >= block.algorithm.after;
const hasRoom = ({ used, cost, headroom }: Member): boolean => used + (cost || 1) + headroom <= WINDOW.limit;
const passes = (one: Member): boolean => hasRoom(one) && !isBlocked(one);

/** What a member is told in a request that is allowed or not; `before`: those in whose place it stands. */
function told(one: Member, allowed: boolean, before: readonly Member[]): object {
  const { used, cost, headroom, mode, block } = one;
  const isUnneeded = before.some(passes);
  const passed = !isUnneeded && passes(one);
  const after = allowed && passed && mode !== 'peek' ? used + cost : used;
  const offends =
    !isUnneeded && !passed && !isBlocked(one) && block !== null && block.cost * cost > 0 && mode !== 'peek';
  const begins = offends && block.count + 1 === block.algorithm.after;
  const blockedFor =
    isUnneeded || block === null
      ? undefined
      : begins
        ? block.algorithm.durations.at(block.count > 0 && block.algorithm === BLOCKS[2] ? 1 : 0)!
        : isBlocked(one)
          ? block.left
          : undefined;
  const never = cost > WINDOW.limit || (cost || 1) + headroom > WINDOW.limit;
  const wait = hasRoom(one) ? 0 : never ? Infinity : LEFT;
  return {
    allowed: passed,
    count: after,
    blockCount: block === null ? undefined : block.count + Number(offends),
    remaining: blockedFor === undefined ? Math.max(0, WINDOW.limit - after - headroom) : 0,
    resetAfter: Math.max(LEFT, blockedFor ?? 0),
    retryAfter: isUnneeded || passed ? 0 : Math.max(wait, blockedFor ?? 0),
    delay: 0,
    blockedFor,
    blockStep:
      blockedFor === undefined || block!.algorithm !== BLOCKS[2] ? undefined : begins && block.count > 0 ? 2 : 1,
    hasReceipt: allowed && passed && mode === 'reserve',
    hasShortfall: !isUnneeded && !hasRoom(one) && mode === 'reserve',
  };
}

describe('a request of several policies', () => {
  it('is allowed if each policy, or one of its alternatives, has room; then those are charged, and otherwise none', () => {
    const law = property(row, boolean(), (groups, elsewhereRejected) => {
      const policies = groups.map(({ shadow, members }) => ({
        shadow,
        members: shadow ? members.slice(0, 1) : members,
      }));
      const found = rowOf(policies);
      // An alternative at the beginning is a charge like any other.
      found[0] = { ...found[0]!, charge: { ...found[0]!.charge, alternative: groups.length % 2 > 0 } };
      const copies = found.map(copyOf);
      const verdict = elsewhereRejected ? judgeRejected(found, AT) : judge(found, AT);
      const allowed = !elsewhereRejected && policies.every(({ shadow, members }) => shadow || members.some(passes));
      const said = verdict.charges.map(({ receipt, shortfall, ...one }, i) => ({
        ...NO_BLOCK,
        ...one,
        count: (found[i]!.level as { count: number }).count,
        blockCount: found[i]!.block?.level.count,
        hasReceipt: receipt !== undefined,
        hasShortfall: shortfall !== undefined,
      }));
      expectSame([verdict.allowed, verdict.at], [allowed, AT]);
      expectSame(
        said,
        policies.flatMap(({ members }) => members.map((one, i) => told(one, allowed, members.slice(0, i)))),
      );
      expectSame(copies.slice(1), rowOf(policies).slice(1)); // a copy stays as it was
    });
    assert(law, histories(20));
  });
});
