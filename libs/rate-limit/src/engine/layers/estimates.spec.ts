import { expect, it } from '@jest/globals';
import { AskedDecider, chargesFor, once } from '../../../../../test/support/asked-decider.js';
import { OpenCharges } from '../settling/open-charges.js';
import { EstimatesLayer } from './estimates.js';

it('marks a rejection that an open charge causes, until that is settled', () => {
  const inner = new AskedDecider();
  const open = new OpenCharges();
  const layer = new EstimatesLayer(open, inner);
  const [reserving] = chargesFor([once('policy')], 'reserve');
  const taking = chargesFor([once('policy')]);
  const reserved = layer.decide([reserving!]);
  expect(reserved).toMatchObject({ allowed: true, charges: [{ remaining: 0, estimated: true }] });
  expect(layer.decide(taking)).toMatchObject({ allowed: false, charges: [{ estimated: true }] });
  open.close(reserving!, (reserved as Exclude<typeof reserved, Promise<unknown>>).charges[0]!.receipt!);
  const certain = layer.decide(taking);
  expect(certain).toMatchObject({ allowed: false });
  expect(certain).not.toHaveProperty('charges.0.estimated');
});

it('asks about charges that nothing is open for as they are', () => {
  const inner = new AskedDecider();
  const taking = chargesFor([once('policy')]);
  void new EstimatesLayer(new OpenCharges(), inner).decide(taking);
  expect(inner.asked[0]).toBe(taking);
});
