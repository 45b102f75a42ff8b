/* Reservations: one that expires (`expires`, `atExpiry`), its process, two processes that sweep, and the log in Redis between them.
 *
 * Whoever takes the reservation out of the log settles it. A claim whose answer is lost is asked again; the log remembers by a mark whose
 * claim it was. Processes die, calls are lost before they are run, and answers are lost after it.
 *
 * Logged: `@ step actor outcome number charge`; actor 0: the process of the reservation; charge: what the store has for it.
 */
#define COST 3
#define REST 1  /* the final cost at the expiry */
#define DUE 2   /* the tick of the expiry */
#define KEEP 1  /* ticks for which a mark is kept: a claim that is made longer before the expiry leaves none */

mtype = { tick, reserve, settle, expire, claim, make, beyond, die, look };      /* steps */
mtype = { well, lost, unheard, refused, own, taken, unknown };                  /* outcomes */
mtype = { fresh, open, claiming, settling, charging, done, dead, idle, seeing }; /* states of a process */

byte now;
byte charge;           /* the store: what it has for the reservation */
bool inLog;            /* the log: whether the reservation is in it, and whose claim has taken it out */
byte mark;

mtype state[3] = idle;
bool asked[3];         /* whether it has claimed, and has no answer yet; in this tick */
bool recent[3];
byte since;             /* the tick of the first claim of the process */
mtype written = well;  /* what the process knows of its entry */
bool hasFinal, late;   /* whether its caller has settled, and whether that was after the expiry */
byte final;
byte more;             /* what is to be charged in addition */

byte claimants;        /* ghost: how many took it upon themselves to settle it */
bool faults;           /* ghost: whether anything was lost that leaves it charged, or less than it has cost */

byte i, n;
mtype outcome = well;

#define log(step, who) printf("@ %e %d %e %d %d\n", step, who, outcome, n, charge)

/* A claim is asked, and asked again, within a tick. */
#define isAsked(who) (state[who] != claiming || recent[who])
#define isBusy(who) (state[who] == claiming || state[who] == settling || state[who] == charging)

inline check() {
  assert(claimants <= 1); /* once: never settled twice, so never refunded twice */
  if
  :: now > DUE && !inLog && !isBusy(0) && state[0] != open && !isBusy(1) && !isBusy(2) && !faults ->
    /* free: what is open at the expiry is settled a tick later; counted: and what the work has cost is charged */
    assert(!(hasFinal && !late) || charge == final);
    assert(!(hasFinal && late && final > REST) || charge == final);
    assert(hasFinal && (!late || final > REST) || charge == REST)
  :: else
  fi;
  outcome = well; n = 0
}

/* A question to the log. */
inline query(who) {
  if
  :: inLog -> inLog = false; outcome = own; if :: now + KEEP >= DUE -> mark = who + 1 :: else fi
  :: !inLog && mark == who + 1 -> outcome = own
  :: else -> if :: who == 0 && now < DUE -> outcome = unknown :: else -> outcome = taken fi /* unknown: nobody else may have it yet */
  fi
}

/* What the process of the reservation makes of the answer. */
inline conclude() {
  if
  :: outcome == unknown && (written != well || asked[0]) -> outcome = own /* never there, or taken out by an earlier question */
  :: outcome == unknown && written == well && !asked[0] -> outcome = taken
  :: outcome == taken && (written != well || now - since >= KEEP) -> outcome = unknown /* its mark may be gone */
  :: else
  fi;
  asked[0] = false; recent[0] = false; since = 0;
  if
  :: outcome == own -> claimants++; state[0] = settling
  :: outcome == taken ->
    more = 0;
    if :: hasFinal && final > REST -> more = final - REST :: else fi;
    late = hasFinal;
    state[0] = charging
  :: outcome == unknown ->
    faults = true;
    more = 0;
    if :: hasFinal && !late && final > COST -> more = final - COST :: else fi;
    if :: hasFinal && late && final > REST -> more = final - REST :: else fi;
    state[0] = charging
  fi
}

active proctype owner() {
  do
  :: state[0] == idle -> atomic {
      charge = COST; state[0] = open;
      if
      :: inLog = true
      :: inLog = true; written = unknown; outcome = unheard
      :: written = unknown; outcome = lost
      :: written = refused; outcome = refused
      fi;
      d_step { log(reserve, 0); check() }
    }
  :: state[0] == open && !hasFinal && now <= DUE -> atomic {
      if :: final = 0 :: final = 2 :: final = 4 fi;
      d_step { hasFinal = true; late = (now >= DUE); state[0] = claiming; since = now; n = final; log(settle, 0); check() }
    }
  :: d_step { state[0] == open && now >= DUE -> state[0] = claiming; since = now; late = true; log(expire, 0); check() }
  :: d_step { state[0] == claiming && written == refused -> outcome = own; claimants++; state[0] = settling; log(claim, 0); check() }
  :: d_step { state[0] == claiming && written != refused -> query(0); conclude(); log(claim, 0); check() }
  :: d_step { state[0] == claiming && written != refused && !recent[0] ->
      query(0); outcome = unheard; asked[0] = true; recent[0] = true; log(claim, 0); check() }
  :: d_step { state[0] == claiming && written != refused && !recent[0] ->
      outcome = lost; asked[0] = true; recent[0] = true; log(claim, 0); check() }
  :: d_step { state[0] == settling ->
      if :: late -> charge = charge + REST - COST :: else -> charge = charge + final - COST fi;
      more = 0;
      if :: late && hasFinal && final > REST -> more = final - REST; state[0] = charging :: else -> state[0] = done fi;
      log(make, 0); check() }
  :: d_step { state[0] == settling -> /* lost on its way: it is sent once */
      outcome = lost; faults = true; more = 0; state[0] = done; log(make, 0); check() }
  :: d_step { state[0] == charging -> charge = charge + more; n = more; more = 0; state[0] = done; log(beyond, 0); check() }
  :: d_step { state[0] == open || isBusy(0) ->
      if :: state[0] == settling || state[0] == charging || !inLog && claimants == 0 -> faults = true :: else fi;
      hasFinal = hasFinal && (state[0] == charging); late = late || !hasFinal;
      state[0] = dead; since = 0; asked[0] = false; recent[0] = false; log(die, 0); check() }
  od
}

active [2] proctype sweeper() {
  byte me = _pid;
  do
  :: d_step { state[me] == idle && state[0] != idle && inLog && now >= DUE -> state[me] = claiming; log(look, me); check() }
  :: d_step { state[me] == claiming ->
      query(me); asked[me] = false; recent[me] = false;
      if :: outcome == own -> claimants++; state[me] = settling :: else -> state[me] = idle fi;
      log(claim, me); check() }
  :: d_step { state[me] == claiming && !recent[me] -> query(me); outcome = unheard; asked[me] = true; recent[me] = true; log(claim, me); check() }
  :: d_step { state[me] == claiming && !recent[me] -> outcome = lost; asked[me] = true; recent[me] = true; log(claim, me); check() }
  :: d_step { state[me] == settling -> charge = charge + REST - COST; state[me] = idle; log(make, me); check() }
  :: d_step { state[me] == settling -> outcome = lost; faults = true; state[me] = idle; log(make, me); check() }
  :: d_step { isBusy(me) ->
      if :: asked[me] || state[me] == settling -> faults = true :: else fi;
      state[me] = dead; asked[me] = false; recent[me] = false; log(die, me); check() }
  od
}

active proctype time() {
  do
  :: d_step { now < DUE && state[0] != idle && isAsked(0) -> now++; recent[0] = false; log(tick, 0); check() }
  :: d_step { /* what is due is looked at within a tick: by its process, or by one that sweeps */
      now == DUE && isAsked(0) && isAsked(1) && isAsked(2) ->
      now++; recent[0] = false; recent[1] = false; recent[2] = false; log(tick, 0); check() }
  od
}
