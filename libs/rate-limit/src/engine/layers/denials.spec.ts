import { describe, expect, it } from '@jest/globals';
import { AskedDecider, chargesFor, once } from '../../../../../test/support/asked-decider.js';
import { DenialCache } from './denial-cache.js';
import { DenialsLayer } from './denials.js';

describe('the layer of denials', () => {
  const asked = chargesFor([once('policy')]);

  function over(inner: AskedDecider, notes: boolean): { layer: DenialsLayer; denials: DenialCache } {
    const denials = new DenialCache(1000);
    return { layer: new DenialsLayer(denials, notes, inner), denials };
  }

  it('answers by itself what was rejected before', () => {
    const inner = new AskedDecider();
    const { layer } = over(inner, true);
    expect(layer.decide(asked)).toMatchObject({ allowed: true });
    expect(layer.decide(asked)).not.toHaveProperty('source');
    expect(layer.decide(asked)).toMatchObject({ allowed: false, source: 'denial-cache' });
    expect(inner.asked).toHaveLength(2);
  });

  it('notes a rejection that comes later as well', async () => {
    const inner = new AskedDecider();
    const { layer } = over(
      Object.assign(inner, { decide: async (all: typeof asked) => AskedDecider.prototype.decide.call(inner, all) }),
      true,
    );
    for (let i = 0; i < 2; i++) await layer.decide(asked);
    expect(await layer.decide(asked)).toMatchObject({ source: 'denial-cache' });
    expect(inner.asked).toHaveLength(2);
  });

  it('leaves the notes to a store that makes its own', () => {
    const inner = new AskedDecider();
    const { layer } = over(inner, false);
    for (let i = 0; i < 3; i++) void layer.decide(asked);
    expect(inner.asked).toHaveLength(3);
  });

  it('asks again after a reset', () => {
    const inner = new AskedDecider();
    const { layer, denials } = over(inner, true);
    for (let i = 0; i < 2; i++) void layer.decide(asked);
    inner.store.clear();
    denials.forget(asked.map(({ key }) => key));
    expect(layer.decide(asked)).toMatchObject({ allowed: true });
  });
});
