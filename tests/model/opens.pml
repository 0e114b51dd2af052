// SPDX-License-Identifier: GPL-2.0
// OPEN and CLOSE of two disks over a session of two paths: they are lost, late and said again, the server
// starts anew, a mapper gives up while its OPEN is under way, and ids are given out again.
//
// Each map of a disk has an OPEN with a number. Map 1 and 2 are of one disk, one after the other; map 0 is
// of another one. A path that dies takes one message with it: others are on the other path, and what is
// said again goes there.

#ifndef FAULTS
#define FAULTS 2	// paths lost, and restarts of the server
#endif

#define MAPS 3
#define IDS 3
#define DISK(m) (m == 0 -> 1 : 2)

// ---- the message of a map ----
#define NONE 0
#define SENT 1		// on its way
#define BEGUN 2		// at the server
#define ANSWERED 3
#define LOST 4		// the client knows that its path has ended
// ---- the client's map ----
#define IDLE 0
#define ASKED 1		// OPEN is out
#define OPEN 2
#define CLOSING 3	// CLOSE is out
#define GONE 4
// ---- an OPEN at the server ----
#define UNDER_WAY 1
#define ENDED 2

byte map[MAPS];
bool wanted[MAPS];	// somebody waits for the map
byte number[MAPS];
byte id[MAPS];		// as the answer told it
byte message[MAPS];
byte late[MAPS];	// NONE, or a copy of OPEN that the server may still take
byte last_number;

byte opening[MAPS];
bool given_up[MAPS];
byte told[MAPS];	// the id that it got, plus 1; 0: refused
byte disk_of[IDS];	// 0: free
byte number_of[IDS];

byte faults = FAULTS;
hidden byte k;
hidden byte found;

// The mapping of a disk, plus 1.
inline find_disk(d) {
	found = 0;
	for (k : 0 .. IDS - 1) {
		if
		:: disk_of[k] == d -> found = k + 1
		:: else
		fi
	}
}

inline find_number(n) {
	found = 0;
	for (k : 0 .. IDS - 1) {
		if
		:: disk_of[k] && number_of[k] == n -> found = k + 1
		:: else
		fi
	}
}

inline lowest_id() {
	found = 0;
	for (k : 0 .. IDS - 1) {
		if
		:: !found && !disk_of[k] -> found = k + 1
		:: else
		fi
	}
}

inline close_id(i) {
	disk_of[i] = 0;
	number_of[i] = 0
}

// The server's disk has opened.
inline end_open(m) {
	find_disk(DISK(m));
	opening[m] = ENDED;
	if
	:: found ->
		// Rule: a later open takes over
		// What the session has open already belongs to the later of both OPENs.
		if
#ifndef OLDER_TAKES_OVER
		:: number[m] < number_of[found - 1] -> told[m] = 0
#endif
		:: else -> number_of[found - 1] = number[m]; told[m] = found
		fi
	:: else ->
		lowest_id();
		disk_of[found - 1] = DISK(m);
		number_of[found - 1] = number[m];
		told[m] = found
	fi;
	if
	:: given_up[m] ->
		find_number(number[m]);
		if
		:: found -> close_id(found - 1)
		:: else
		fi;
		told[m] = 0
	:: else
	fi
}

inline begin_open(m) {
	if
	:: opening[m] == NONE -> opening[m] = UNDER_WAY; given_up[m] = false
	:: else
	fi
}

inline do_close(m) {
#ifdef CLOSE_BY_ID
	if
	:: id[m] -> close_id(id[m] - 1)
	:: else
	fi
#else
	// Rule: a close names its open
	// It closes what that one has opened, and nothing if another OPEN has that.
	find_number(number[m]);
	if
	:: found -> close_id(found - 1)
	// Rule: a close finds an open under way
#ifndef NOT_UNDER_WAY
	:: !found && opening[m] == UNDER_WAY -> given_up[m] = true
#endif
	:: else
	fi
#endif
}

// A number belongs to one OPEN for ever.
inline ask(m) {
	last_number++;
	number[m] = last_number;
	id[m] = 0;
	opening[m] = NONE;
	given_up[m] = false;
	map[m] = ASKED;
	message[m] = SENT
}

inline say_close(m) {
	map[m] = CLOSING;
	message[m] = SENT
}

proctype Map(byte m)
{
end:	do
	// One map of a disk at a time, but for OPENs that nobody waits for.
	:: d_step { map[m] == IDLE && (m != 2 || map[1] == GONE || (map[1] != IDLE && !wanted[1])) ->
		wanted[m] = true;
		ask(m) }
#ifndef PATIENT
	:: d_step { map[m] == ASKED && wanted[m] -> wanted[m] = false }
#endif
	:: d_step { map[m] == ASKED && message[m] == ANSWERED && told[m] ->
		message[m] = NONE;
		id[m] = told[m];
		if
		:: wanted[m] -> map[m] = OPEN
		:: else -> say_close(m)
		fi }
	:: d_step { map[m] == ASKED && message[m] == ANSWERED && !told[m] -> message[m] = NONE; map[m] = GONE }
	// Rule: a lost open is asked for or closed
	// Under its number: it may have been executed, and may be under way.
	:: d_step { map[m] == ASKED && message[m] == LOST && wanted[m] -> message[m] = SENT }
	:: d_step { map[m] == ASKED && message[m] == LOST && !wanted[m] ->
#ifdef LOST_IS_FORGOTTEN
		message[m] = NONE;
		map[m] = GONE }
#else
		say_close(m) }
#endif
	:: d_step { map[m] == OPEN -> say_close(m) }
	:: d_step { map[m] == CLOSING && message[m] == LOST -> message[m] = SENT }
	:: d_step { map[m] == CLOSING && message[m] == ANSWERED -> message[m] = NONE; map[m] = GONE }
	// A disk that is mapped is open at the server, and no other one in its place.
	:: d_step { map[m] == OPEN && disk_of[id[m] - 1] != DISK(m) -> assert(disk_of[id[m] - 1] == DISK(m)) }
	od
}

proctype Server(byte m)
{
end:	do
	:: d_step { message[m] == SENT && map[m] == ASKED -> message[m] = BEGUN; begin_open(m) }
	:: d_step { late[m] != NONE -> late[m] = NONE; begin_open(m) }
	:: d_step { opening[m] == UNDER_WAY -> end_open(m) }
	:: d_step { message[m] == BEGUN && map[m] == ASKED && opening[m] == ENDED -> message[m] = ANSWERED }
	:: d_step { message[m] == SENT && map[m] == CLOSING -> message[m] = BEGUN; do_close(m) }
	// Its flush has ended.
	:: d_step { message[m] == BEGUN && map[m] == CLOSING -> message[m] = ANSWERED }
	od
}

// Rule: control ends with its path
// The transport moves none to another path: its sender knows what may be said again.
// Rule: nothing begins after its path
// The client hears of the end when the path is quiet: what has not begun by then never will.
#define ON_ITS_WAY(m) (message[m] == SENT || message[m] == BEGUN || message[m] == ANSWERED)
#ifdef MOVED
#define LOSE(m) :: d_step { faults > 0 && ON_ITS_WAY(m) -> faults--; message[m] = SENT }
#else
#define LOSE(m) :: d_step { faults > 0 && ON_ITS_WAY(m) -> faults--; message[m] = LOST }
#endif
#ifdef BEGINS_LATE
#define LOSE_LATE(m) :: d_step { faults > 0 && message[m] == SENT && map[m] == ASKED -> \
		faults--; message[m] = LOST; late[m] = SENT }
#else
#define LOSE_LATE(m)
#endif

proctype Faults()
{
end:	do
	LOSE(0)
	LOSE(1)
	LOSE(2)
	LOSE_LATE(0)
	LOSE_LATE(1)
	LOSE_LATE(2)
	// The server starts anew, and with it each life of the session: what the client has open it opens
	// again.
	:: d_step { faults > 0 ->
		faults--;
		for (k : 0 .. IDS - 1) {
			close_id(k)
		};
		for (k : 0 .. MAPS - 1) {
			opening[k] = NONE;
			given_up[k] = false;
			late[k] = NONE;
			if
			:: map[k] == OPEN || (map[k] == ASKED && wanted[k]) -> ask(k)
			:: map[k] == CLOSING || (map[k] == ASKED && !wanted[k]) ->
				map[k] = GONE;
				message[k] = NONE
			:: else
			fi
		};
		k = 0 }
	od
}

init {
	atomic {
		run Map(0); run Map(1); run Map(2);
		run Server(0); run Server(1); run Server(2);
		run Faults()
	}
	timeout ->
		// Every map has ended, and nothing of them is left open.
		assert(map[0] == GONE && map[1] == GONE && map[2] == GONE);
		assert(!disk_of[0] && !disk_of[1] && !disk_of[2])
}
