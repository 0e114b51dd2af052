// SPDX-License-Identifier: GPL-2.0
// The server of order.pml: path objects with their close work, lives of the session, slots, disks.

// The copy owns its slot no longer, the one behind it is handed on.
inline finish(a, s) {
	found = false;
	for (j : 0 .. ATTEMPTS - 1) {
		if
		:: j != a && copy[AT(j, s)] == PARKED && life[j] == life[a] ->
			if
			:: state[j] == UP ->
				copy[AT(j, s)] = HANDED;
				found = true
			:: else ->
				copy[AT(j, s)] = NONE;
				content[AT(j, s)] = 0
			fi
		:: else
		fi
	}
	if
	:: copy[AT(a, s)] == NONE -> content[AT(a, s)] = 0
	:: else
	fi;
	if
	:: !found -> chunk[life[a] * SLOTS + s] = 0
	:: else
	fi
}

// When nothing of it runs, and the client waits for nothing of it, its number is free.
inline tidy(a) {
	if
	:: (state[a] == REFUSED || state[a] == QUIET) && !HOLDS(a) && !WORKING(a) ->
		state[a] = FREE;
		owner[a] = 0;
		attempt_epoch[a] = 0;
		life[a] = 0
	:: else
	fi
}

#define IS_OPEN(a) (state[a] == CONNECTING || state[a] == UP)
#define IS_OF(k, l, y) (IS_OPEN(k) && life[k] == (l))
#define KEEPS_UP(k, l, y) (state[k] >= CONNECTING && state[k] <= CLOSING && life[k] == (l))
#define IS_LEFT_OF(k, l, y) (state[k] >= CONNECTING && life[k] == (l))

// Rule: one life one session
// A Session object whose paths are all closing is found no more: the next REQ makes a new one, with an
// instance, slots and chunks of its own, and session_up() is called once for each.
#ifdef SAME_LIFE
#define FINDS(k, l, y) IS_LEFT_OF(k, l, y)
#else
#define FINDS(k, l, y) IS_OF(k, l, y)
#endif

// Rule: session down before quiet
// The mappings of a life are on their way to their end before a path of the next one comes up. It is
// told by the last path that is not quiet.
inline end_life(l) {
	if
#ifndef DOWN_AFTER_QUIET
	:: l && !ANY(KEEPS_UP, l, 0) -> down[l] = true
#endif
	:: else
	fi
}

// A path that was not up has nobody's requests.
inline close(a) {
	if
	:: state[a] == UP -> state[a] = CLOSING
	:: state[a] == CONNECTING -> state[a] = REFUSED; end_life(life[a]); tidy(a)
	fi;
	if
	:: present && !ANY(FINDS, present, 0) -> present = 0
	:: else
	fi
}

#define IS_NEWER(k, a, y) (IS_OPEN(k) && owner[k] == owner[a] && !HOLDS(a))

// Rule: older epochs end first
// A REQ of a later epoch closes the paths of earlier ones, one of an earlier epoch is refused.
inline take_connect_request(a) {
	if
	:: ANY(IS_NEWER, a, 0) || (present && attempt_epoch[a] < present_epoch) ->
		state[a] = REFUSED;
		tidy(a)
	:: else ->
		for (k : 0 .. ATTEMPTS - 1) {
			if
			:: k != a && IS_OPEN(k) &&
			   (owner[k] == owner[a] || attempt_epoch[k] < attempt_epoch[a]) -> close(k)
			:: else
			fi
		}
		if
		:: !present -> last_life++; present = last_life
		:: else
		fi;
		present_epoch = attempt_epoch[a];
		life[a] = present;
		state[a] = CONNECTING
	fi
}

// Rule: quiet before connected
// No path comes up while another one of the client still takes what arrives late.
#if defined(OLD_WAIT_AT_CONNECT)
#define IN_THE_WAY(k, a, y) (state[k] == CLOSING || (state[k] == QUIET && WORKING(k)))
#elif defined(CONNECT_BEFORE_QUIET)
#define IN_THE_WAY(k, a, y) false
#else
#define IN_THE_WAY(k, a, y) (state[k] == CLOSING)
#endif

// Nothing arrives any more, and what waits for a slot is forgotten.
inline drain(a) {
	for (i : 0 .. SLOTS - 1) {
		if
		:: copy[AT(a, i)] == IN_NETWORK || copy[AT(a, i)] == PARKED || copy[AT(a, i)] == ANSWERED ->
			copy[AT(a, i)] = NONE;
			content[AT(a, i)] = 0
#ifndef HANDED_AFTER_QUIET
		// Rule: nothing on its way when quiet
		// What was handed on has begun, or never does.
		:: copy[AT(a, i)] == HANDED ->
			copy[AT(a, i)] = NONE;
			finish(a, i)
#endif
		:: else
		fi
	}
	state[a] = QUIET;
	end_life(life[a]);
	tidy(a)
}

// Rule: second copies wait
// A slot works for one path's request, until its I/O has ended.
inline arrive(a, s) {
	chunk[life[a] * SLOTS + s] = content[AT(a, s)];
	found = false;
	for (j : 0 .. ATTEMPTS - 1) {
		if
		:: j != a && life[j] == life[a] && copy[AT(j, s)] == PARKED ->
			copy[AT(j, s)] = NONE;
			content[AT(j, s)] = 0
		:: j != a && life[j] == life[a] && BUSY(AT(j, s)) -> found = true
		:: else
		fi
	}
	if
#ifndef NO_PARKING
	:: found -> copy[AT(a, s)] = PARKED
#endif
	:: else -> copy[AT(a, s)] = BEGUN
	fi
}

// The mapping is there until the user's session ends.
inline hand_on(a, s) {
	if
	:: down[life[a]] ->
		copy[AT(a, s)] = NONE;
		finish(a, s);
		tidy(a)
	:: else -> copy[AT(a, s)] = BEGUN
	fi
}

#define COPY(a, s) \
	:: d_step { copy[AT(a, s)] == IN_NETWORK && (state[a] == UP || state[a] == CLOSING) -> arrive(a, s) } \
	:: d_step { copy[AT(a, s)] == HANDED -> hand_on(a, s) }

proctype Attempt(byte a)
{
end:	do
	:: d_step { state[a] == REQUESTED -> take_connect_request(a) }
	:: d_step { state[a] == CONNECTING && ON_IT(a) && !ANY(IN_THE_WAY, a, 0) ->
		state[a] = UP }
	// The client has left it, or this machine thinks so.
	:: d_step { IS_OPEN(a) && !ON_IT(a) -> close(a) }
	:: d_step { IS_OPEN(a) && ON_IT(a) && faults > 0 -> faults--; close(a) }
	:: d_step { state[a] == CLOSING -> drain(a) }
	COPY(a, 0)
	COPY(a, 1)
	od
}

inline end_io(a, s) {
	if
	:: IS_READ(content[AT(a, s)]) -> chunk[life[a] * SLOTS + s] = READ_DATA
	:: else ->
		// The chunk still has what this request brought.
		assert(chunk[life[a] * SLOTS + s] == content[AT(a, s)]);
		// No older write lands on a newer one.
		assert(landed[DISK_OF(content[AT(a, s)])] <= VERSION_OF(content[AT(a, s)]));
		landed[DISK_OF(content[AT(a, s)])] = VERSION_OF(content[AT(a, s)])
	fi;
	if
	:: state[a] == UP -> copy[AT(a, s)] = ANSWERED
	:: else -> copy[AT(a, s)] = NONE
	fi;
	finish(a, s);
	tidy(a)
}

#ifdef HANGS
#define MOVES(x) ((copy[x] == BEGUN) && DISK_OF(content[x]) != X)
#else
#define MOVES(x) (copy[x] == BEGUN)
#endif
#define DISK(a) \
	:: d_step { MOVES(AT(a, 0)) -> end_io(a, 0) } \
	:: d_step { MOVES(AT(a, 1)) -> end_io(a, 1) }

#ifdef DOWN_AFTER_QUIET
#define SESSION_DOWN(l) \
	:: d_step { last_life >= l && !down[l] && !ANY(KEEPS_UP, l, 0) -> down[l] = true }

proctype Sessions()
{
end:	do
	SESSION_DOWN(1)
	SESSION_DOWN(2)
	SESSION_DOWN(3)
	SESSION_DOWN(4)
	SESSION_DOWN(5)
	od
}
#endif

proctype Disk()
{
end:	do
	DISK(0)
	DISK(1)
	DISK(2)
	DISK(3)
#if ATTEMPTS > 4
	DISK(4)
#endif
#if ATTEMPTS > 5
	DISK(5)
#endif
	od
}
