import { MINUTE, ORIGIN, SECOND } from './instants.js';
import type { Laws } from './laws.js';
import { expectFields, expectSame } from './same.js';
import { algorithmOf } from './small-policies.js';

const LEASE = 30 * SECOND;
const two = algorithmOf({ algorithm: 'concurrency', limit: 2, lease: '30s' });
const one = algorithmOf({ algorithm: 'concurrency', limit: 1, lease: '30s' });
const many = algorithmOf({ algorithm: 'concurrency', limit: 300, lease: '30s' });

/** What holds for leases that are released and renewed. A store without `refund` releases none. */
export const LEASES: Laws = {
  'a release frees one lease, and a repeated one does no more': async (open) => {
    const timeline = await open();
    if (!timeline.refunds) return;
    const first = await timeline.take(0, [two, 1]);
    await timeline.take(SECOND, [two, 1]);
    expectFields('both taken', await timeline.charge(SECOND, two, 1), { allowed: false });
    await timeline.refund(SECOND, first);
    await timeline.refund(SECOND, first);
    expectFields('the released one', await timeline.charge(SECOND, two, 0), { allowed: true, remaining: 1 });
  },

  'leases that end at one instant are released one by one': async (open) => {
    const timeline = await open();
    if (!timeline.refunds) return;
    const [first, second] = [await timeline.take(0, [two, 1]), await timeline.take(0, [two, 1])];
    await timeline.refund(0, first);
    expectFields('after one release', await timeline.charge(0, two, 0), { remaining: 1 });
    await timeline.refund(0, second);
    expectFields('after both', await timeline.charge(0, two, 0), { remaining: 2 });
  },

  'a lease that is granted ends early, in its turn among others, and its first renewal makes it a whole one': async (
    open,
  ) => {
    const timeline = await open();
    const { grant, granted } = two.lease!;
    const [first] = await timeline.take(0, [two, 1]);
    const [second] = await timeline.take(SECOND, [grant, 1]);
    expectSame('the granted one', { ends: second!.resetAt }, { ends: ORIGIN + SECOND + granted });
    const full = { allowed: false, retryAfter: granted, resetAfter: LEASE - SECOND };
    expectFields('both taken', await timeline.charge(SECOND, grant, 1), full);
    const at = SECOND + granted;
    expectFields('before its end', await timeline.charge(at - 1, grant, 1), { allowed: false, retryAfter: 1 });
    const renewed = await timeline.take(at - 1, [two.lease!.renewal(second!.resetAt), 1]);
    expectSame('a whole one', { ends: renewed[0]!.resetAt }, { ends: ORIGIN + at - 1 + LEASE });
    expectFields('the first one ends', await timeline.charge(LEASE, two, 0), { remaining: 1 });
    const again = await timeline.take(LEASE, [grant, 1]);
    expectFields('both taken again', await timeline.charge(LEASE, grant, 1), { allowed: false });
    expectFields('the last one granted ends', await timeline.charge(LEASE + granted, two, 0), { remaining: 1 });
    if (!timeline.refunds) return;
    await timeline.refund(LEASE + granted, [first!, ...again, second!]);
    expectFields('what has ended frees nothing', await timeline.charge(LEASE + granted, two, 0), { remaining: 1 });
    await timeline.refund(LEASE + granted, renewed);
    expectFields('the renewed one is released', await timeline.charge(LEASE + granted, two, 0), { remaining: 2 });
  },

  'a release of a lease that has ended frees no other lease': async (open) => {
    const timeline = await open();
    const ended = await timeline.take(0, [two, 1]);
    await timeline.charge(LEASE, two, 2);
    await timeline.refund(LEASE, ended);
    expectFields('the others hold', await timeline.charge(LEASE, two, 1), { allowed: false });
  },

  'a renewal moves the lease, takes no second one, and its release frees it': async (open) => {
    const timeline = await open();
    if (!timeline.refunds) return;
    const [lease] = await timeline.take(0, [two, 1]);
    await timeline.take(SECOND, [two, 1]);
    const at = 20 * SECOND;
    const renewed = await timeline.take(at, [two.lease!.renewal(lease!.resetAt), 1]);
    expectSame('the renewed lease', { ends: renewed[0]!.resetAt }, { ends: ORIGIN + at + LEASE });
    const full = { allowed: false, retryAfter: LEASE + SECOND - at, resetAfter: LEASE };
    expectFields('still both', await timeline.charge(at, two, 1), full);
    expectFields('when the other one ends', await timeline.charge(LEASE + SECOND, two, 0), { remaining: 1 });
    await timeline.refund(LEASE + SECOND, [lease!]);
    expectFields('its old end frees nothing', await timeline.charge(LEASE + SECOND, two, 0), { remaining: 1 });
    await timeline.refund(LEASE + SECOND, renewed);
    expectFields('its new end does', await timeline.charge(LEASE + SECOND, two, 0), { remaining: 2 });
  },

  'a renewal of a lease that has ended takes a free one, and fails where there is none': async (open) => {
    const timeline = await open();
    const [lease] = await timeline.take(0, [one, 1]);
    const renewal = one.lease!.renewal(lease!.resetAt);
    expectFields('a free one', await timeline.charge(LEASE, renewal, 1), { allowed: true, remaining: 0 });
    expectFields('which counts', await timeline.charge(LEASE, one, 1), { allowed: false });
    expectFields('none is free', await timeline.charge(LEASE + 1, renewal, 1), { allowed: false });
  },

  'a renewal succeeds though the limit was lowered': async (open) => {
    const timeline = await open();
    const [lease] = await timeline.take(0, [two, 1]);
    await timeline.take(SECOND, [two, 1]);
    const renewed = await timeline.charge(2 * SECOND, one.lease!.renewal(lease!.resetAt), 1);
    expectFields('the renewal', renewed, { allowed: true, resetAfter: LEASE });
    expectFields('both count', await timeline.charge(2 * SECOND, one, 1), { allowed: false, remaining: 0 });
    expectFields('until one ends', await timeline.charge(LEASE + SECOND, one, 1), {
      allowed: false,
      retryAfter: SECOND,
    });
  },

  'renews and releases among more leases than fit one string': async (open) => {
    const timeline = await open();
    if (!timeline.refunds) return;
    const leases = [];
    for (let i = 0; i < 3; i++) leases.push(await timeline.take(i, [many, 100]));
    const renewed = await timeline.take(MINUTE / 4, [many.lease!.renewal(leases[1]![0]!.resetAt), 100]);
    expectFields('all of them', await timeline.charge(MINUTE / 4, many, 1), { allowed: false, resetAfter: LEASE });
    expectFields('the others have ended', await timeline.charge(LEASE + 2, many, 0), { remaining: 200 });
    await timeline.refund(LEASE + 2, renewed);
    expectFields('the renewed ones are released', await timeline.charge(LEASE + 2, many, 0), { remaining: 300 });
  },
};
