import { describe, expect, it } from '@jest/globals';
import { AskedDecider, chargesFor, once } from '../../../../../test/support/asked-decider.js';
import { ActiveOverrides } from '../overrides/active-overrides.js';
import type { OverrideChange } from '../overrides/override.js';
import { bodyText } from '../overrides/override-text.js';
import { inPlaceOf, type PolicyCharge } from '../policy-charge.js';
import type { LayerVerdict } from '../layer-verdict.js';
import { ElseLayer, type ElseSettings, UnmadeCharge } from './else.js';
import { OverridesLayer } from './overrides.js';

const NOW_MS = 1_700_000_000_000;

/** A row of policies, each of one request a day. */
function row(...names: string[]): PolicyCharge {
  const charges = chargesFor(names.map(once));
  for (const [i, charge] of charges.entries()) {
    if (i + 1 < charges.length) charge.instead = (head) => inPlaceOf(head, linked(charges[i + 1]!, charge));
  }
  return charges[0]!;
}

/** The copy that `inPlaceOf` makes has the links of the charge. */
function linked(charge: PolicyCharge, head: PolicyCharge): PolicyCharge {
  return { ...charge, instead: charge.instead && (() => charge.instead!({ ...charge, mode: head.mode })) };
}

function layerOf(inner: ElseSettings['inner'], settings: Partial<ElseSettings> = {}) {
  const ranOver: string[] = [];
  const layer = new ElseLayer({
    inner,
    monitor: { ranOver: (from, to) => void ranOver.push(`${from} to ${to}`) },
    overrides: new ActiveOverrides({ warn: () => undefined }, () => NOW_MS),
    decidesAlternatives: () => true,
    deadlines: { ms: 1_000 },
    ...settings,
  });
  return { layer, ranOver };
}

const names = (charges: readonly PolicyCharge[]): string[] =>
  charges.map(({ policy, alternative }) => (alternative ? `or ${policy.name}` : policy.name));

const takenBy = (verdict: LayerVerdict): string | undefined => verdict.asked?.map(({ policy }) => policy.name).join();

describe('the layer of else', () => {
  it('asks a request that fits its first policies once', () => {
    const inner = new AskedDecider();
    const { layer, ranOver } = layerOf(inner);
    const charges = [row('a', 'b'), row('c')];
    expect(layer.decide(charges)).toMatchObject({ allowed: true });
    expect(inner.asked).toEqual([charges]);
    expect(ranOver).toEqual([]);
  });

  it('asks all policies of a row in one second question, beside the others of the request', () => {
    const inner = new AskedDecider();
    const { layer, ranOver } = layerOf(inner);
    const taken: (string | undefined)[] = [];
    for (let i = 0; i < 4; i++) taken.push(takenBy(layer.decide([row('a', 'b', 'c', 'd')]) as LayerVerdict));
    expect(taken).toEqual([undefined, 'b', 'c', 'd']);
    expect(inner.asked.map(names)).toEqual([['a'], ...[1, 2, 3].flatMap(() => [['a'], ['a', 'or b', 'or c', 'or d']])]);
    expect(ranOver).toEqual(['a to b', 'a to c', 'a to d']);
    expect(layer.decide([row('a', 'b'), row('e')])).toMatchObject({ allowed: false, charges: [{}, { allowed: true }] });
    expect(names(inner.asked.at(-1)!)).toEqual(['a', 'or b', 'e']);
    expect(layer.decide([row('e')])).toMatchObject({ allowed: true });
  });

  it('charges the first policy if it has room again by the second question', async () => {
    const inner = new AskedDecider();
    const { layer, ranOver } = layerOf(inner);
    expect(layer.decide([row('a')])).toMatchObject({ allowed: true });
    const first = row('a', 'b');
    const next = first.instead!;
    first.instead = async (head) => {
      inner.store.clear();
      return next(head);
    };
    expect(takenBy(await layer.decide([first]))).toBe('a');
    expect(ranOver).toEqual([]);
    expect(layer.decide([row('b')])).toMatchObject({ allowed: true });
  });

  it('asks one policy after the other where they cannot be decided in one step', () => {
    const inner = new AskedDecider();
    const { layer } = layerOf(inner, { decidesAlternatives: () => false });
    expect(takenBy(layer.decide([row('a')]) as LayerVerdict)).toBeUndefined();
    expect(takenBy(layer.decide([row('b')]) as LayerVerdict)).toBeUndefined();
    expect(takenBy(layer.decide([row('a', 'b', 'c'), row('d')]) as LayerVerdict)).toBe('c,d');
    expect(inner.asked.map(names).slice(2)).toEqual([
      ['a', 'd'],
      ['b', 'd'],
      ['c', 'd'],
    ]);
  });

  it.each<[string, OverrideChange, string[][], boolean]>([
    ['ends a row in front of a policy whose client is blocked', { blocked: true }, [['a']], false],
    ['asks nothing about a policy whose client is exempt', { exempt: true }, [['a']], true],
  ])('%s', (_, change, asked, allowed) => {
    const overrides = new ActiveOverrides({ warn: () => undefined }, () => NOW_MS);
    const body = bodyText({ policy: 'b', identity: 'user:ada', scope: undefined, change });
    overrides.put({ removed: false, version: 1, setAtMs: NOW_MS, endsAtMs: 0, body });
    const inner = new AskedDecider();
    const { layer } = layerOf(new OverridesLayer(overrides, inner), { overrides });
    void layer.decide([row('a')]);
    const verdict = layer.decide([row('a', 'b', 'c')]);
    expect(verdict).toMatchObject({ allowed, charges: [{ allowed }] });
    expect(inner.asked.slice(1).map(names)).toEqual(asked);
  });

  it('fails with the reason of a charge that cannot be made, but not before the request comes so far', () => {
    const { layer } = layerOf(new AskedDecider());
    const unmade = (): PolicyCharge => {
      const first = row('a', 'b');
      const next = first.instead!;
      first.instead = (head) => ({
        ...(next(head) as PolicyCharge),
        instead: () => {
          throw new RangeError('no c');
        },
      });
      return first;
    };
    expect([layer.decide([unmade()]), layer.decide([unmade()])]).toMatchObject([{ allowed: true }, { allowed: true }]);
    expect(() => layer.decide([unmade()])).toThrow(UnmadeCharge);
  });

  it('gives all questions of a request one deadline', async () => {
    const answers: Promise<LayerVerdict>[] = [];
    const rejection = new AskedDecider();
    void rejection.decide([row('a')]);
    const inner = { decide: () => (answers.push(new Promise(() => undefined)), answers.at(-1)!) };
    const { layer } = layerOf(inner);
    const verdict = rejection.decide([row('a')]);
    const [request, now] = [[row('a', 'b')], performance.now()];
    await expect(layer.after(request, verdict, undefined, now - 950)).rejects.toThrow('no answer within 1000 ms');
    expect(answers).toHaveLength(1);
  });

  // The store has answered the first question within the deadline, so it was not the store that used it up.
  it('gives the next question a whole deadline if a stall of the event loop has used it up', async () => {
    const inner = new AskedDecider();
    void inner.decide([row('a')]);
    const { layer } = layerOf({ decide: async (charges) => inner.decide(charges) });
    const verdict = inner.decide([row('a')]);
    const askedAt = performance.now() - 5_000;
    expect(takenBy(await layer.after([row('a', 'b')], verdict, undefined, askedAt))).toBe('b');
  });
});
