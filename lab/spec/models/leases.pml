/* Leases: the places under a `concurrency` policy, with answers that are late or lost, and processes that die.
 *
 * Times are ticks from now on, so that the model has no last tick: what is checked holds for any length of time. The store keeps
 * one number a tick: how many leases end then. Two leases that end together are interchangeable, as in
 * lua/algorithms/concurrency.lua. Each holder is a request in a process of its own, and knows only what it was told.
 *
 * Logged: `@ step holder outcome left`.
 */
#ifndef HOLDERS
#define HOLDERS 3
#endif
#define LIMIT (HOLDERS - 1)
#define GRANTED 2 /* ticks that a lease lasts until its first renewal */
#define WHOLE 4   /* ticks that a renewed lease lasts */

mtype = { idle, awaited, held, leaving };                             /* states of a holder */
mtype = { well, late, lost, none };                                   /* what becomes of a call */
mtype = { tick, take, arrive, renew, renewed, release, die };         /* steps */

byte places[5];      /* the store: how many leases end so many ticks from now; [0] have ended */
mtype state[3] = idle;
byte ends[3];        /* the end of its lease, as far as the holder knows */
byte told[3];        /* the end that a late answer will tell */
bool renewing[3];    /* whether a renewal is under way */
bool refused[3];     /* whether that renewal has found no free place */
byte orphans[5];     /* ghost: the places that no holder can free any more */

byte i, new, t, used, valid, owed;
mtype outcome = well;

inline count() { used = 0; for (t : 1 .. WHOLE) { used = used + places[t] } }
inline log(step) { d_step { count(); printf("@ %e %d %e %d\n", step, i, outcome, LIMIT - used) } }

/* A release names the end of its lease. A lease that has ended frees nothing. */
inline free(end) { if :: end > 0 && places[end] > 0 -> places[end]-- :: else fi }

/* Nobody frees it any more. More than LIMIT of them say no more. */
inline orphan(end) { if :: orphans[end] < LIMIT -> orphans[end]++ :: else fi }

/* Ends the part of a holder: its next request begins anew. */
inline leave() { state[i] = idle; ends[i] = 0; told[i] = 0 }

inline pass() {
  d_step {
    for (t : 1 .. WHOLE) { places[t - 1] = places[t]; orphans[t - 1] = orphans[t] }
    places[WHOLE] = 0; orphans[WHOLE] = 0; places[0] = 0; orphans[0] = 0;
    for (t : 0 .. HOLDERS - 1) {
      if :: ends[t] > 0 -> ends[t]-- :: else fi;
      if :: told[t] > 0 -> told[t]-- :: else fi
    }
  }
}

inline check() {
  d_step {
    count();
    for (t : 1 .. WHOLE) { owed = owed + orphans[t] }
    for (i : 0 .. HOLDERS - 1) {
      if :: state[i] == held && ends[i] > 0 -> valid++ :: else fi;
      if :: state[i] != idle && (ends[i] > 0 || told[i] > 0) -> owed++ :: else fi
    }
    assert(used <= LIMIT);   /* limit: never above it */
#ifndef LOST_RENEWALS
    assert(valid <= used);   /* counted: a request whose lease has not ended is counted, so no more than LIMIT run */
#endif
    assert(used <= owed);    /* free: a place that nobody holds is free within its bound, and none is counted twice */
    i = 0; new = 0; t = 0; used = 0; valid = 0; owed = 0; outcome = well
  }
}

active proctype world() {
  do
  :: atomic { pass(); log(tick); check() }
  :: atomic {
      if
      :: i = 0
      :: i = 1
#if HOLDERS > 2
      :: i = 2
#endif
      fi;
      if
      :: state[i] == idle ->
        d_step { count() };
        if
        :: used >= LIMIT -> outcome = none
        :: else ->
          new = GRANTED; /* short until its holder is known to have it: a lost answer keeps no place for a whole lease */
          places[new]++;
          if
          :: state[i] = held; ends[i] = new
          :: outcome = late; state[i] = awaited; told[i] = new
          :: outcome = lost; orphan(GRANTED)
          fi
        fi;
        log(take)
      :: state[i] == awaited -> free(told[i]); leave(); log(arrive) /* nobody waits for it: it is given back */
      :: state[i] == held && !renewing[i] ->
        if
        :: ends[i] > 0 && places[ends[i]] > 0 -> places[ends[i]]--; new = WHOLE
        :: else -> /* it has ended: another one, if one is free */
          d_step { count(); if :: used < LIMIT -> new = WHOLE :: else fi }
        fi;
        if :: new > 0 -> places[new]++ :: else fi;
        if
        :: if :: new > 0 -> ends[i] = new :: else -> outcome = none fi
        :: outcome = late; renewing[i] = true; told[i] = new; refused[i] = (new == 0)
#ifdef LOST_RENEWALS
        :: outcome = lost; orphan(new)
#endif
        fi;
        log(renew)
      :: state[i] != idle && renewing[i] ->
        if :: !refused[i] -> ends[i] = told[i] :: else fi;
        renewing[i] = false; refused[i] = false; told[i] = 0;
        /* A release that came meanwhile has waited: before the answer the end is not known. */
        if :: state[i] == leaving -> free(ends[i]); leave() :: else fi;
        log(renewed)
      :: state[i] == held && renewing[i] -> state[i] = leaving; outcome = late; log(release)
      :: state[i] == held && !renewing[i] ->
        if :: free(ends[i]) :: outcome = lost; orphan(ends[i]) fi;
        leave();
        log(release)
      :: state[i] == held ->
        if :: told[i] > 0 -> orphan(told[i]) :: else -> orphan(ends[i]) fi;
        renewing[i] = false; refused[i] = false;
        leave();
        log(die)
      fi;
      check()
    }
  od
}
