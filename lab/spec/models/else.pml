/* Else: requests that take the first of two policies with room (`else`), and a third one besides, in one step of the store.
 *
 * Identical requests that come together are one row with a count (lua/apart.lua). A request that was late is given back: from the policy
 * that took it. What a lost answer has charged stays.
 *
 * Logged: `@ step requests outcome taken left left left`; taken: how many were admitted by the first policy and by the second.
 */
#define FIRST 2
#define SECOND 2
#define ALL 3

mtype = { ask, give, direct }; /* steps */
mtype = { well, late, lost };  /* outcomes */

byte used[3];     /* the store */
byte running[2];  /* what requests hold, by the policy of the row that took them */
byte awaited[2];  /* of late answers */
byte stuck[3];    /* ghost: charges of lost answers, and of requests of one policy alone */

byte i, k, n, times, a, b;
mtype outcome = well;

inline least(one, other) { if :: other < one -> one = other :: else fi }

inline end(step, many) {
  printf("@ %e %d %e %d %d %d %d %d\n", step, many, outcome, a, b, FIRST - used[0], SECOND - used[1], ALL - used[2]);
  assert(used[0] <= FIRST && used[1] <= SECOND && used[2] <= ALL); /* limit */
  for (i : 0 .. 1) { assert(used[i] == running[i] + awaited[i] + stuck[i]) } /* one alternative, charged once */
  assert(used[2] == running[0] + running[1] + awaited[0] + awaited[1] + stuck[2]); /* all or nothing */
  i = 0; k = 0; n = 0; times = 0; a = 0; b = 0; outcome = well
}

/* The store decides `times` identical requests: each takes the first policy of its row with room, and ALL; or nothing. */
inline decide() {
  n = times;
  least(n, FIRST - used[0] + SECOND - used[1]);
  least(n, ALL - used[2]);
  a = n;
  least(a, FIRST - used[0]);
  b = n - a;
  used[0] = used[0] + a; used[1] = used[1] + b; used[2] = used[2] + n
}

active proctype world() {
  do
  :: atomic {
      if :: times = 1 :: times = 2 :: times = 3 fi;
      if :: true :: outcome = late :: outcome = lost fi;
      d_step {
        n = times;
        decide();
        if
        :: outcome == well -> running[0] = running[0] + a; running[1] = running[1] + b
        :: outcome == late -> awaited[0] = awaited[0] + a; awaited[1] = awaited[1] + b
        :: outcome == lost -> stuck[0] = stuck[0] + a; stuck[1] = stuck[1] + b; stuck[2] = stuck[2] + n
        fi;
        end(ask, times)
      }
    }
  :: atomic {
      if :: k = 0 :: k = 1 fi;
      if
      :: d_step { running[k] > 0 -> running[k]--; used[k]--; used[2]--; end(give, k) }
      :: d_step { awaited[k] > 0 -> awaited[k]--; used[k]--; used[2]--; outcome = late; end(give, k) }
      :: else -> k = 0
      fi
    }
  :: d_step { used[0] < FIRST -> used[0]++; stuck[0]++; k = 0; end(direct, 0) }
  :: d_step { used[1] < SECOND -> used[1]++; stuck[1]++; k = 1; end(direct, 1) }
  od
}
