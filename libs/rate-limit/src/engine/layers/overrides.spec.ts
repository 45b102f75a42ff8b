import { beforeEach, describe, expect, it } from '@jest/globals';
import { AskedDecider, chargesFor, once } from '../../../../../test/support/asked-decider.js';
import { ActiveOverrides } from '../overrides/active-overrides.js';
import type { OverrideChange } from '../overrides/override.js';
import { bodyText } from '../overrides/override-text.js';
import type { PolicyCharge } from '../policy-charge.js';
import { UNASKED } from '../layer-verdict.js';
import { OverridesLayer } from './overrides.js';

const NOW_MS = 1_700_000_000_000;

describe('the layer of overrides', () => {
  let version: number;
  let active: ActiveOverrides;
  let inner: AskedDecider;
  let layer: OverridesLayer;
  let both: PolicyCharge[];

  function put(policy: string, change: OverrideChange, endsAtMs = 0): void {
    const body = bodyText({ policy, identity: 'user:ada', scope: undefined, change });
    active.put({ removed: false, version: ++version, setAtMs: NOW_MS, endsAtMs, body });
  }

  beforeEach(() => {
    version = 0;
    both = chargesFor([once('first'), once('second')]);
    active = new ActiveOverrides({ warn: () => undefined }, () => NOW_MS);
    inner = new AskedDecider();
    layer = new OverridesLayer(active, inner);
  });

  it('passes a request without overrides on as it is', () => {
    put('other', { exempt: true });
    expect(layer.decide(both)).toMatchObject({ allowed: true });
    expect(inner.asked).toEqual([both]);
    expect(inner.asked[0]).toBe(both);
  });

  it('asks with the numbers of an override, and tells them with the verdict', () => {
    put('second', { limit: 9 });
    const verdict = layer.decide(both);
    expect(inner.asked[0]!.map(({ algorithm }) => algorithm.limit)).toEqual([1, 9]);
    expect(verdict).toMatchObject({
      allowed: true,
      asked: [{ override: undefined }, { override: 1 }],
      overridden: { changed: 1, exempt: 0, blocked: 0 },
    });
  });

  it('leaves a charge of which the client is exempt out, and keeps the places of the others', () => {
    put('first', { exempt: true });
    const verdict = layer.decide(both);
    expect(inner.asked).toEqual([[both[1]]]);
    expect(verdict).toMatchObject({
      asked: both,
      charges: [UNASKED, { allowed: true, remaining: 0 }],
      overridden: { exempt: 1 },
    });
    expect(layer.decide(both)).toMatchObject({ allowed: false, charges: [UNASKED, { allowed: false }] });
  });

  it('lets a client pass unasked who is exempt of all policies', () => {
    put('first', { exempt: true });
    put('second', { exempt: true });
    const verdict = layer.decide(both);
    expect(verdict).toMatchObject({ allowed: true, source: 'override', charges: [UNASKED, UNASKED] });
    expect(inner.asked).toEqual([]);
  });

  it.each([
    ['without an end', 0, { resetAfter: 0, retryAfter: Infinity }],
    ['with an end', NOW_MS + 60_000, { resetAfter: 60_000_000, retryAfter: 60_000_000 }],
  ])('rejects unasked a client who is blocked %s', (_, endsAtMs, left) => {
    put('second', { blocked: true }, endsAtMs);
    const verdict = layer.decide(both);
    expect(verdict).toMatchObject({
      allowed: false,
      at: NOW_MS * 1000,
      source: 'override',
      charges: [UNASKED, { allowed: false, remaining: 0, ...left }],
      overridden: { blocked: 1 },
    });
    expect(inner.asked).toEqual([]);
  });

  it('never rejects by a shadow', () => {
    const shadow = chargesFor([once('first'), { ...once('second'), mode: 'shadow' }]);
    put('second', { blocked: true });
    expect(layer.decide(shadow)).toMatchObject({ allowed: true, charges: [{ allowed: true }, UNASKED] });
    expect(inner.asked).toEqual([[shadow[0]]]);
  });
});
