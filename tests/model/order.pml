// SPDX-License-Identifier: GPL-2.0
// Requests, slots, fence, epoch and lives of a session: no older write lands on a newer one, each request ends
// once, and a disk that hangs for ever keeps nobody but its own users waiting.
//
// One client, one server, PATHS paths, a disk that may hang (X) and a healthy one (Y), a writer for
// each: it sends version 1 of a block, waits for the end, sends version 2. What takes time is a step
// that may come late; what can fail does so up to FAULTS times. Every run then comes to an end, which
// `make model` checks as well, and there the monitor looks at what should have been reached.
//
// An attempt to connect is the server's path object: it has a number of its own (serial), and may
// live on long after the client has left it.

#ifndef PATHS
#define PATHS 2
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 4	// path objects at one time
#endif
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef WRITES_X
#define WRITES_X 2	// versions of a block
#endif
#ifndef WRITES_Y
#define WRITES_Y 1
#endif
#define MORE(d) (((d) == X && next[d] <= WRITES_X) || ((d) == Y && next[d] <= WRITES_Y))
#define SLOTS 2
#define LIVES 6
#define NOBODY 255

// The server's path object.
#define FREE 0
#define REQUESTED 1	// REQ is in the network
#define REFUSED 2	// REJ, or closed before it was up: the client has to notice
#define CONNECTING 3
#define UP 4
#define CLOSING 5
#define QUIET 6

// A copy of a request, which each attempt has at most one of for each slot.
#define NONE 0
#define IN_NETWORK 1
#define PARKED 2	// behind another path's copy
#define HANDED 3	// on its way to the device, by a work item that nobody waits for
#define BEGUN 4		// at the disk
#define ANSWERED 5	// the answer is in the network

// The client's path.
#define DOWN 0
#define TRYING 1
#define CONNECTED 2
#define LEAVING 3	// its own queue pairs are drained, its requests are to go elsewhere

// How far the fence of a path that is left has come.
#define UNFENCED 0
#define ASKED 1
#define TAKEN 2		// the server closes the path
#define FENCED 3
#define GIVEN_UP 4	// there is nobody to ask
#define ABANDONED 5	// and all paths know

#define X 0
#define Y 1
#define DISK_OF(c) ((c) >> 4)
#define VERSION_OF(c) ((c) & 7)
#define IS_READ(c) (((c) & 8) != 0)
#define READ_DATA 128	// what a read puts into its chunk

byte faults = FAULTS;

// ---- client ----
byte epoch;
byte path_state[PATHS];
byte attempt[PATHS];	// the path's current one
byte fence[PATHS];
byte slot_path[SLOTS];	// + 1; 0: the slot is free
byte slot_content[SLOTS];
byte opened[2];		// the life whose device id the user has, 0 for none
byte next[2];		// version
bool in_flight[2];

// ---- server ----
byte state[ATTEMPTS];
byte owner[ATTEMPTS];	// path of the client
byte attempt_epoch[ATTEMPTS];
byte life[ATTEMPTS];	// the Session object: user session, instance, slots
byte copy[ATTEMPTS * SLOTS];
byte content[ATTEMPTS * SLOTS];
byte chunk[LIVES * SLOTS];
byte last_life;
byte present;		// the life that a REQ finds, 0 for none
byte present_epoch;
bool down[LIVES];	// session_down() was told

// ---- disks ----
byte landed[2];

#define AT(a, s) ((a) * SLOTS + (s))
#define BUSY(i) (copy[i] >= HANDED && copy[i] <= BEGUN)
#define ON_IT(a) (attempt[owner[a]] == (a) && \
		  (path_state[owner[a]] == TRYING || path_state[owner[a]] == CONNECTED))
#define HOLDS(a) (attempt[owner[a]] == (a) && path_state[owner[a]] != DOWN)
#define WORKING(a) (BUSY(AT(a, 0)) || BUSY(AT(a, 1)))
#define REQUESTS(p) (slot_path[0] == (p) + 1 || slot_path[1] == (p) + 1)

// Of any attempt, or copy of one.
#if ATTEMPTS == 4
#define ANY(f, x, y) (f(0, x, y) || f(1, x, y) || f(2, x, y) || f(3, x, y))
#elif ATTEMPTS == 5
#define ANY(f, x, y) (f(0, x, y) || f(1, x, y) || f(2, x, y) || f(3, x, y) || f(4, x, y))
#elif ATTEMPTS == 6
#define ANY(f, x, y) (f(0, x, y) || f(1, x, y) || f(2, x, y) || f(3, x, y) || f(4, x, y) || f(5, x, y))
#endif
#define ANY_COPY(a, f, x) (f(AT(a, 0), a, x) || f(AT(a, 1), a, x))

hidden byte i, j, k;
hidden byte found;

#include "order_server.pml"
#include "order_client.pml"

init {
	// All paths are up, and both disks are open.
	d_step {
		next[X] = 1;
		next[Y] = 1;
		last_life = 1;
		present = 1;
		opened[X] = 1;
		opened[Y] = 1;
		for (i : 0 .. PATHS - 1) {
			path_state[i] = CONNECTED;
			attempt[i] = i;
			owner[i] = i;
			state[i] = UP;
			life[i] = 1
		}
	}
	atomic {
		run Path(0);
		run Path(1);
#if PATHS > 2
		run Path(2);
#endif
		run Attempt(0);
		run Attempt(1);
		run Attempt(2);
		run Attempt(3);
#if ATTEMPTS > 4
		run Attempt(4);
#endif
#if ATTEMPTS > 5
		run Attempt(5);
#endif
		run Users();
#ifdef DOWN_AFTER_QUIET
		run Sessions();
#endif
		run Disk();
	}
	timeout ->
		// Every request of a healthy disk ends, and every path that can connect does.
		assert(next[Y] > WRITES_Y);
#ifndef HANGS
		assert(next[X] > WRITES_X);
#endif
		assert(path_state[0] == CONNECTED && path_state[PATHS - 1] == CONNECTED);
}
