/* Prefetch: pods that take tokens of a bucket ahead of demand, that stop, and whose calls are late or lost.
 *
 * The bucket is that of docs/prefetch.md: it refills, but not beyond what is prefetched and not settled, of which the store knows two
 * sums, by generation. A textbook bucket beside it pays for each request at the instant at which that passes. It must never be
 * overdrawn: this is "at most capacity + refill x t in any interval of length t", for all intervals at once.
 *
 * A pod's call returns its old prefetch and asks for another one. It may reach the store at any later tick, or never; an answer may be
 * lost. A late answer needs no step of its own: it is a pod that does not use its tokens for a while.
 *
 * Logged: `@ step pod number left`; left: the tokens in the bucket. The number: granted or unused tokens; of a tick, 1 if pod 0 may use
 * tokens now, and 2 more if pod 1 may.
 */
#define CAPACITY 12
#define REFILL 2    /* tokens a tick */
#ifndef LENGTH
#define LENGTH 3    /* ticks of a prefetch, and of a generation */
#endif
#define WANT 3
#define PART 4      /* a prefetch takes at most this part of what is left */
#define FEWEST 2
#define PODS 2

mtype = { tick, consume, use, ask, granted, unheard, lose, stop }; /* steps */

byte phase;            /* ticks of the generation that have passed */
byte debt, young, old; /* the store: missing tokens, and those prefetched in this generation and in the one before */
byte textbook;         /* ghost: the debt of a bucket that pays at the instant of use */

/* What a pod knows of its prefetch: its size, what is not used, for how many ticks it may be used, and the generations since. */
byte size[PODS], unused[PODS], left[PODS], age[PODS];
bool calling[PODS];    /* whether a call is on its way, with the prefetch that it returns */

byte i, n;

#define log(step, pod) printf("@ %e %d %d %d\n", step, pod, n, CAPACITY - debt); i = 0; n = 0
inline pay() { assert(textbook < CAPACITY); textbook++ } /* limit: never more than capacity + refill x t */
inline forget(pod) { size[pod] = 0; unused[pod] = 0; left[pod] = 0; age[pod] = 0; calling[pod] = false }

inline pass() {
  /* The refill of this tick stops below what is prefetched. */
  if :: debt > REFILL -> debt = debt - REFILL :: else -> debt = 0 fi;
  if :: debt < young + old -> debt = young + old :: else fi;
  if :: textbook > REFILL -> textbook = textbook - REFILL :: else -> textbook = 0 fi;
  for (i : 0 .. PODS - 1) { if :: left[i] > 0 -> left[i]-- :: else fi }
  phase++;
  if
  :: phase == LENGTH ->
    /* What has counted for a whole generation after its own counts as used from now on. */
    phase = 0; old = young; young = 0;
    for (i : 0 .. PODS - 1) { if :: size[i] > 0 && age[i] < 2 -> age[i]++ :: else fi }
  :: else
  fi;
  for (i : 0 .. PODS - 1) { if :: !calling[i] && unused[i] > 0 && left[i] > 0 -> n = n + i + 1 :: else fi }
}

/* The store runs a call: it settles, and then grants n. */
inline decide(pod) {
  if
  :: age[pod] == 0 && young >= size[pod] -> young = young - size[pod]; debt = debt - unused[pod]
  :: age[pod] == 1 && old >= size[pod] -> old = old - size[pod]; debt = debt - unused[pod]
  :: else
  fi;
  n = (CAPACITY - debt) / PART;
  if :: n > WANT -> n = WANT :: else fi;
  if :: n + young + old > CAPACITY / 2 -> n = CAPACITY / 2 - young - old :: else fi;
  if :: n < FEWEST -> n = 0 :: else fi;
  young = young + n; debt = debt + n
}

active proctype world() {
  do
  :: d_step { pass(); log(tick, 0) }
  :: d_step { debt < CAPACITY -> debt++; pay(); log(consume, 0) } /* a request that no prefetch pays */
  od
}

active [PODS] proctype pod() {
  byte me = _pid - 1;
  do
  :: d_step { !calling[me] && unused[me] > 0 && left[me] > 0 -> unused[me]--; pay(); n = unused[me]; log(use, me) }
  :: d_step { !calling[me] -> calling[me] = true; left[me] = LENGTH; n = unused[me]; log(ask, me) } /* its time counts from sending */
  :: d_step { calling[me] -> decide(me); calling[me] = false; size[me] = n; unused[me] = n; age[me] = 0; log(granted, me) }
  :: d_step { calling[me] -> decide(me); forget(me); log(unheard, me) } /* the store has granted, the answer is lost */
  :: d_step { calling[me] -> forget(me); log(lose, me) }                /* the call is lost: a settlement is sent once */
  :: d_step { !calling[me] && size[me] > 0 -> forget(me); log(stop, me) }
  od
}
