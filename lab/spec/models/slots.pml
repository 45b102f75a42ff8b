/* Slots: requests whose keys lie in several slots of a Cluster, which no program sees together, and `else` between slots.
 *
 * Each request asks for a place of OWN and of ALL; if OWN is full, for one of OTHER (the `else` of OWN) and of ALL. CrossSlot charges slot
 * after slot. It refunds what it has charged when a slot rejects or fails, or when the deadline falls. At the deadline the request has
 * its answer; what a later answer has charged is refunded, too.
 *
 * Logged: `@ step request outcome left left left`, of OWN, OTHER and ALL.
 */
#define REQUESTS 2
#define OWN 0
#define OTHER 1
#define ALL 2
#ifndef TOTAL
#define TOTAL 1 /* places of ALL */
#endif
#define LIMIT(of) (1 + of / ALL * (TOTAL - 1))

mtype = { begin, decide, answer, lose, deadline, refund };               /* steps */
mtype = { going, admitted, rejected, failed, well, lost };               /* outcomes */
mtype = { idle, sent, ran };                                             /* the call of a request */

byte used[3];               /* the store */
mtype verdict[REQUESTS] = going;
mtype call[REQUESTS] = idle;
byte row[REQUESTS];         /* the policy of its row that it asks about: OWN, then OTHER */
bool second[REQUESTS];      /* whether its row is charged, so that the call is about ALL */
bool fits[REQUESTS];        /* what the store has said to the call */
byte refunds[3];            /* on their way */
byte stuck[3];              /* ghost: charges that nobody will take back, because an answer or a refund was lost */
byte begun, i, k, n;
bool faults;                /* ghost: whether anything was lost or late */

#define log(step, of, outcome) \
  printf("@ %e %d %e %d %d %d\n", step, of, outcome, LIMIT(0) - used[0], LIMIT(1) - used[1], LIMIT(2) - used[2])

/* The slot that the call of a request is about. All requests ask in one order: in differing orders two of them could each hold
 * what the other needs, and both would be rejected. */
inline key(me) { if :: second[me] -> k = ALL :: else -> k = row[me] fi }

/* Takes back what the request has charged so far. */
inline undo(me) { if :: second[me] -> refunds[row[me]]++ :: else fi }

inline check() {
  n = 0;
  for (i : 0 .. REQUESTS - 1) { if :: verdict[i] == admitted -> n++ :: else fi };
  for (i : OWN .. ALL) { assert(used[i] <= LIMIT(i)) } /* limit */
  assert(n <= used[ALL]);                              /* counted: what is admitted stays charged */
  if
  :: refunds[0] + refunds[1] + refunds[2] == 0 && call[0] == idle && call[1] == idle ->
    /* all or nothing, never twice, and of an `else` one alternative, once nothing is on its way */
    assert(used[ALL] - stuck[ALL] == n);
    assert(used[OWN] + used[OTHER] - stuck[OWN] - stuck[OTHER] == n);
    /* progress: without faults one of the requests is admitted */
    assert(faults || begun < REQUESTS || n > 0)
  :: else
  fi;
  i = 0; k = 0; n = 0
}

active [REQUESTS] proctype request() {
  byte me = _pid;
  do
  :: d_step { verdict[me] == going && call[me] == idle -> begun++; call[me] = sent; log(begin, me, going); check() }
  :: d_step { call[me] == sent ->
      key(me);
      fits[me] = used[k] < LIMIT(k);
      if :: fits[me] -> used[k]++ :: else fi;
      call[me] = ran;
      log(decide, me, verdict[me]); check() }
  :: d_step { call[me] == ran && verdict[me] == going ->
      call[me] = idle;
      if
      :: fits[me] && !second[me] -> second[me] = true; call[me] = sent
      :: fits[me] && second[me] -> verdict[me] = admitted
      :: !fits[me] && !second[me] && row[me] == OWN -> row[me] = OTHER; call[me] = sent
      :: else -> verdict[me] = rejected; undo(me)
      fi;
      log(answer, me, verdict[me]); check() }
  :: d_step { call[me] == ran && verdict[me] == failed -> /* nobody waits for it any more */
      key(me);
      call[me] = idle;
      if :: fits[me] -> refunds[k]++ :: else fi;
      log(answer, me, failed); check() }
  :: d_step { call[me] != idle -> /* the call or its answer is lost: whether it was run is not known */
      key(me);
      faults = true;
      if :: call[me] == ran && fits[me] -> stuck[k]++ :: else fi;
      call[me] = idle;
      if :: verdict[me] == going -> verdict[me] = failed; undo(me) :: else fi;
      log(lose, me, failed); check() }
  :: d_step { call[me] != idle && verdict[me] == going ->
      faults = true; verdict[me] = failed; undo(me);
      log(deadline, me, failed); check() }
  :: call[me] == idle && verdict[me] != going -> break
  od
}

active proctype network() {
  byte which;
  do
  :: which = OWN
  :: which = OTHER
  :: which = ALL
  :: d_step { refunds[which] > 0 -> refunds[which]--; used[which]--; log(refund, which, well); check() }
  :: d_step { refunds[which] > 0 -> refunds[which]--; stuck[which]++; faults = true; log(refund, which, lost); check() }
  od
}
