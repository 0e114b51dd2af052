// SPDX-License-Identifier: GPL-2.0
// The client of order.pml: paths with their fences, and the users of two disks.

#define CAN_CARRY(q) (path_state[q] == CONNECTED)
#if PATHS == 2
#define OTHER_CARRIES(p) CAN_CARRY(1 - (p))
#else
#define OTHER_CARRIES(p) (CAN_CARRY(((p) + 1) % 3) || CAN_CARRY(((p) + 2) % 3))
#endif

inline submit(q, s, c) {
	// The device id is one of this session of the server.
	assert(opened[DISK_OF(c)] == life[attempt[q]]);
	assert(copy[AT(attempt[q], s)] == NONE);
	slot_path[s] = q + 1;
	slot_content[s] = c;
	// What is sent to a path that is closed at the server never arrives.
	if
	:: state[attempt[q]] < QUIET ->
		copy[AT(attempt[q], s)] = IN_NETWORK;
		content[AT(attempt[q], s)] = c
	:: else
	fi
}

inline end_request(s) {
	// Each request ends once.
	assert(in_flight[DISK_OF(slot_content[s])]);
	in_flight[DISK_OF(slot_content[s])] = false;
	slot_path[s] = 0;
	slot_content[s] = 0
}

#define COUNTED(p) (path_state[p] == CONNECTED || path_state[p] == LEAVING)

// Rule: older instance goes first
// A path comes up in another life than an older one only when the user has been told of its loss.
#ifdef MIXED_INSTANCES
#define STALE(p, q) false
#else
#define STALE(p, q) (COUNTED(q) && life[attempt[q]] != life[attempt[p]])
#endif
#if PATHS == 2
#define OTHERS_STALE(p) STALE(p, 1 - (p))
#else
#define OTHERS_STALE(p) (STALE(p, ((p) + 1) % 3) || STALE(p, ((p) + 2) % 3))
#endif


inline go_down(p) {
	k = attempt[p];
	path_state[p] = DOWN;
	attempt[p] = NOBODY;
	fence[p] = UNFENCED;
	tidy(k);
	// The user is told when the last path is down.
	found = false;
	for (i : 0 .. PATHS - 1) {
		found = found || COUNTED(i)
	}
	if
	:: !found -> opened[X] = 0; opened[Y] = 0
	:: else
	fi
}

inline go_down_if_over(p) {
	if
	:: !REQUESTS(p) -> go_down(p)
	:: else
	fi
}

inline leave(p) {
	path_state[p] = LEAVING;
	fence[p] = UNFENCED;
	go_down_if_over(p)
}

// Rule: epoch before giving up
// The user hears of an error only when every path has to connect anew.
inline give_up(p) {
#ifndef NO_EPOCH
	epoch++;
	for (j : 0 .. PATHS - 1) {
		if
		:: path_state[j] == CONNECTED -> leave(j)
		:: else
		fi
	}
#endif
	fence[p] = ABANDONED
}

inline try_attempt(p, a) {
	state[a] = REQUESTED;
	owner[a] = p;
	attempt_epoch[a] = epoch;
	attempt[p] = a;
	path_state[p] = TRYING
}

#define IS_FREE(a, x, y) (state[a] == FREE)

// The paths over which the server is asked to end p's, when it takes the message.
#define HEARS(q) (CAN_CARRY(q) && state[attempt[q]] == UP)
#if PATHS == 2
#define OTHER_HEARS(p) HEARS(1 - (p))
#else
#define OTHER_HEARS(p) (HEARS(((p) + 1) % 3) || HEARS(((p) + 2) % 3))
#endif

#define IS_QUIET(a) (state[a] == QUIET || state[a] == FREE)

#define MOVE(p, q, s) \
	:: d_step { fence[p] == FENCED && slot_path[s] == (p) + 1 && (q) != (p) && CAN_CARRY(q) -> \
		submit(q, s, slot_content[s]); \
		go_down_if_over(p) }
#define GIVE_UP(p, s) \
	:: atomic { fence[p] == ABANDONED && slot_path[s] == (p) + 1 -> \
		if \
		:: next[DISK_OF(slot_content[s])]++ \
		:: skip \
		fi; \
		d_step { \
			end_request(s); \
			go_down_if_over(p) \
		} }
#define ANSWER(p, s) \
	:: d_step { path_state[p] == CONNECTED && copy[AT(attempt[p], s)] == ANSWERED -> \
		assert(slot_path[s] == (p) + 1 && slot_content[s] == content[AT(attempt[p], s)]); \
		copy[AT(attempt[p], s)] = NONE; \
		content[AT(attempt[p], s)] = 0; \
		next[DISK_OF(slot_content[s])]++; \
		end_request(s) }
#define HAS_OF_X(s, p) (slot_path[s] == (p) + 1 && DISK_OF(slot_content[s]) == X)

proctype Path(byte p)
{
end:	do
	:: d_step { path_state[p] == DOWN && ANY(IS_FREE, 0, 0) ->
		for (i : 0 .. ATTEMPTS - 1) {
			if
			:: state[i] == FREE -> break
			:: else
			fi
		}
		try_attempt(p, i) }
	:: d_step { path_state[p] == TRYING && state[attempt[p]] == UP &&
		    attempt_epoch[attempt[p]] == epoch && !OTHERS_STALE(p) ->
		path_state[p] = CONNECTED }
	:: d_step { path_state[p] == TRYING &&
		    (attempt_epoch[attempt[p]] != epoch || state[attempt[p]] == REFUSED ||
		     state[attempt[p]] >= CLOSING) -> go_down(p) }
	// A cable, or the server has left it.
	:: d_step { path_state[p] == CONNECTED && state[attempt[p]] != UP -> leave(p) }
	:: d_step { path_state[p] == CONNECTED && faults > 0 -> faults--; leave(p) }
#ifdef OLD_WAIT_AT_CONNECT
	// The age of a request ends its path.
	:: d_step { path_state[p] == CONNECTED && faults > 0 && (HAS_OF_X(0, p) || HAS_OF_X(1, p)) -> faults--; leave(p) }
#endif
	// Rule: fence before move
	// Requests move when the server has said that the path is quiet.
#ifdef NO_FENCE
	:: d_step { path_state[p] == LEAVING && REQUESTS(p) && fence[p] == UNFENCED && OTHER_CARRIES(p) ->
		fence[p] = FENCED }
#endif
	:: d_step { path_state[p] == LEAVING && REQUESTS(p) && fence[p] == UNFENCED && OTHER_HEARS(p) ->
		if
		:: IS_OPEN(attempt[p]) -> close(attempt[p])
		:: else
		fi;
		fence[p] = TAKEN }
	:: d_step { fence[p] == TAKEN && IS_QUIET(attempt[p]) && OTHER_HEARS(p) -> fence[p] = FENCED }
	:: d_step { fence[p] == TAKEN && !OTHER_CARRIES(p) -> fence[p] = UNFENCED }
	:: d_step { path_state[p] == LEAVING && REQUESTS(p) && !OTHER_CARRIES(p) &&
		    (fence[p] == UNFENCED || fence[p] == FENCED) -> fence[p] = GIVEN_UP }
	:: d_step { fence[p] == GIVEN_UP -> give_up(p) }
	MOVE(p, 0, 0)
	MOVE(p, 0, 1)
	MOVE(p, 1, 0)
	MOVE(p, 1, 1)
#if PATHS > 2
	MOVE(p, 2, 0)
	MOVE(p, 2, 1)
#endif
	GIVE_UP(p, 0)
	GIVE_UP(p, 1)
	ANSWER(p, 0)
	ANSWER(p, 1)
	od
}

#define CAN_SEND(d, q, s) (!in_flight[d] && MORE(d) && opened[d] && CAN_CARRY(q) && !slot_path[s])
#define SEND(d, q, s, c) \
	:: d_step { CAN_SEND(d, q, s) -> in_flight[d] = true; submit(q, s, c) }
#define SEND_ALL(d, q) \
	SEND(d, q, 0, (d) * 16 + next[d]) \
	SEND(d, q, 1, (d) * 16 + next[d])

// Rule: open waits at its device
// A device is opened when what earlier lives of the session had begun on it has ended.
#define EARLIER(c, a, d) (BUSY(c) && DISK_OF(content[c]) == (d))
#define EARLIER_OF(a, l, d) (life[a] != (l) && down[life[a]] && ANY_COPY(a, EARLIER, d))
#ifdef OPEN_AT_ONCE
#define MAY_OPEN(l, d) true
#else
#define MAY_OPEN(l, d) (!ANY(EARLIER_OF, l, d))
#endif
#define OPEN(d, q) \
	:: d_step { !opened[d] && HEARS(q) && MAY_OPEN(life[attempt[q]], d) -> \
		opened[d] = life[attempt[q]] }
#define USE(q) \
	SEND_ALL(X, q) \
	SEND_ALL(Y, q) \
	OPEN(X, q) \
	OPEN(Y, q)

proctype Users()
{
end:	do
#ifdef READS
	:: d_step { CAN_SEND(X, 0, 0) && next[X] == 1 -> in_flight[X] = true; submit(0, 0, 8 + 1) }
#endif
	USE(0)
	USE(1)
#if PATHS > 2
	USE(2)
#endif
	od
}
