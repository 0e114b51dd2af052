// SPDX-License-Identifier: GPL-2.0
// A write cache, flushes that fail or take long, and what becomes of acknowledged writes over the end
// of a session, a new load of the modules and the loss of power: no flush succeeds over a lost write.
//
// One disk of one client: a writer and a flusher work at the same time, one request each. With CACHE=0
// the disk's cache appears only while it is in use, and each write wants to be durable by itself, with
// PLAIN_WRITES none.

#ifndef OPS
#define OPS 2		// writes, and as many flushes
#endif
#ifndef FAULTS
#define FAULTS 2	// losses of the link or of power
#endif
#ifndef FAILURES
#define FAILURES 1	// flushes that fail
#endif
#ifndef CACHE
#define CACHE 1
#endif

#define W 0
#define F 1
#define IDLE 0
#define SENT 1
#define AT_DISK 2
#define DONE 3		// answered well
#define FAILED 4
#define WAITS 5		// in the block layer, for as long as it likes

// Where the write that runs has got.
#define NOWHERE 0
#define CACHED 1
#define SAFE 2
#define LOST 3

#define CLOSED 0
#define OPEN 1

// ---- disk ----
bool cache = CACHE;
bool dirty;		// acknowledged writes are in the cache only
bool gone;		// acknowledged writes are lost
byte written;

// ---- server ----
byte mapping = OPEN;
bool ending;		// a mapping of before, whose flush has not ended
byte losses;
byte instance = 1;
bool aware = CACHE;	// the client acts upon the cache, as the server knows

// ---- client ----
bool linked = true;
bool believes = CACHE;	// there is a cache
bool unflushed;
bool spoilt;		// flushes fail
byte known_losses;
byte known_instance = 1;
byte op[2];
byte todo[2];
bool fua;
bool taken;		// from the write that waits or runs: it wants to be durable by itself
bool durable;		// the client sends every write with FUA
bool plain;		// the write that runs was sent without
bool wanted;		// by the flush that runs: writes that are in the cache only
bool missed;		// ... that are lost

byte faults = FAULTS;
byte failures = FAILURES;

inline lose_cache() {
	if
	:: dirty -> gone = true; dirty = false
	:: else
	fi;
	if
	:: wanted -> missed = true; wanted = false
	:: else
	fi;
	if
	:: written == CACHED -> written = LOST
	:: else
	fi
}

inline clean_cache() {
	dirty = false;
	wanted = false;
	if
	:: written == CACHED -> written = SAFE
	:: else
	fi
}

inline flush_failed() {
	unflushed = true;
	wanted = false;
	missed = false;
	op[F] = IDLE
}

// Requests that were with the server are sent again, flushes as new ones.
inline lose_link() {
	linked = false;
	if
	:: op[W] != IDLE -> op[W] = WAITS; written = NOWHERE
	:: else
	fi;
	if
	:: op[F] != IDLE -> flush_failed()
	:: else
	fi
}

proctype Client()
{
end:	do
#ifdef PLAIN_WRITES
	:: d_step { op[W] == IDLE && todo[W] > 0 -> op[W] = WAITS }
#else
	:: d_step { op[W] == IDLE && todo[W] > 0 -> op[W] = WAITS; taken = !believes }
#endif
	// Rule: taken FUA comes back
	// The block layer takes FUA from what it gets while the disk has no cache, and gives it to the
	// client when it has. Nobody tells which it was, so all have it then, until nobody who was there
	// before has the disk open.
	:: d_step { linked && op[W] == WAITS -> op[W] = SENT; plain = !durable }
#ifdef FUA_FOR_A_WHILE
	:: d_step { durable -> durable = false }
#else
	:: d_step { durable && op[W] == IDLE -> durable = false }
#endif
	:: d_step { linked && op[W] == DONE ->
		assert(!taken || written == SAFE);
		// Rule: marked before it is acknowledged
		unflushed = true;
		if
		:: written == CACHED -> dirty = true
		:: written == LOST -> gone = true
		:: else
		fi;
		written = NOWHERE;
		op[W] = IDLE;
		todo[W]-- }
	:: d_step { op[F] == IDLE && todo[F] > 0 && !believes ->
		// The block layer does not send it.
		assert(!gone && !dirty);
		todo[F]-- }
	:: d_step { op[F] == IDLE && todo[F] > 0 && believes && spoilt -> todo[F]-- }
	:: d_step { linked && op[F] == IDLE && todo[F] > 0 && believes && !spoilt ->
		// Rule: unmarked before it is flushed
#ifndef UNMARKED_WHEN_FLUSHED
		unflushed = false;
#endif
		wanted = dirty;
		missed = gone;
		op[F] = SENT }
	:: d_step { linked && op[F] == DONE ->
		// A flush never succeeds over a lost write.
		assert(!missed && !wanted);
#ifdef UNMARKED_WHEN_FLUSHED
		unflushed = false;
#endif
		op[F] = IDLE;
		todo[F]-- }
	:: d_step { linked && op[F] == FAILED -> flush_failed(); todo[F]-- }
	:: d_step { linked && mapping != OPEN -> lose_link() }
	// Rule: losses before open
	// What could not be flushed when the device was closed is counted before anybody opens it, and
	// the client compares that number, and the instance, with those of before.
	// Rule: open waits at its device
#ifdef OPEN_BEFORE_THE_FLUSH
	:: d_step { !linked && mapping == CLOSED ->
#else
	:: d_step { !linked && mapping == CLOSED && !ending ->
#endif
		mapping = OPEN;
		linked = true;
		if
		:: believes && unflushed && (instance != known_instance || losses != known_losses) ->
			spoilt = true;
			unflushed = false
		:: else
		fi;
		known_instance = instance;
		known_losses = losses;
		durable = durable || (cache && !believes);
		believes = cache;
		aware = cache }
	od
}

proctype Server()
{
end:	do
	// Rule: told before trusted
	// Until the client acts upon a cache, each write is durable before it is answered.
	:: d_step { mapping == OPEN && op[W] == SENT ->
#ifdef NO_FUA_FOR_THE_UNAWARE
		fua = !plain;
#else
		fua = !plain || (cache && !aware);
#endif
		op[W] = AT_DISK }
	:: d_step { mapping == OPEN && op[W] == AT_DISK ->
		if
		:: !cache || fua -> written = SAFE
		:: else -> written = CACHED
		fi;
		// Rule: look again when it ends
		// The cache may have come while the write was on its way to it.
		if
#if !defined(NO_LOOK_WHEN_IT_ENDS) && !defined(NO_FUA_FOR_THE_UNAWARE)
		:: written == CACHED && !aware -> clean_cache()
#endif
		:: else
		fi;
		fua = false;
		op[W] = DONE }
	:: d_step { mapping == OPEN && op[F] == SENT -> clean_cache(); op[F] = DONE }
	:: d_step { mapping == OPEN && op[F] == SENT && failures > 0 -> failures--; op[F] = FAILED }
	:: d_step { mapping == OPEN && !linked && !ending -> mapping = CLOSED; ending = true }
	:: d_step { ending -> clean_cache(); ending = false }
	:: d_step { ending && failures > 0 ->
		failures--;
		lose_cache();
#ifndef OLD_FORGET_FAILED_FLUSH
		losses++;
#endif
		ending = false }
	// The modules are loaded anew.
	:: d_step { mapping == OPEN && !ending && faults > 0 -> faults--; mapping = CLOSED; ending = true }
#ifdef LOSSES_IN_THE_MODULE
	// Rule: losses outlive the module
	:: d_step { mapping == CLOSED && !ending && losses > 0 -> losses = 0 }
#endif
	// The cache comes, and DEVICE_STATES tells of it.
	:: d_step { !cache -> cache = true }
#ifdef AWARE_WHEN_TOLD
	:: d_step { linked && mapping == OPEN && cache && !aware -> aware = true }
	:: d_step { linked && mapping == OPEN && cache && aware && !believes -> believes = true; durable = true }
#else
	:: d_step { linked && mapping == OPEN && cache && !believes -> believes = true; durable = true }
	// Rule: followed when the older have ended
	// A write that was sent without FUA before may be at a disk that hangs, or move with its path as it is.
#ifdef FOLLOWED_AT_ONCE
	:: d_step { linked && mapping == OPEN && believes && !aware -> aware = true }
#else
	:: d_step { linked && mapping == OPEN && believes && !aware && !(plain && op[W] != IDLE && op[W] != WAITS) ->
		aware = true }
#endif
#endif
	od
}

proctype Faults()
{
end:	do
	:: d_step { linked && faults > 0 -> faults--; lose_link() }
	// Its path is lost, and another one carries it.
	:: d_step { linked && op[W] == AT_DISK && faults > 0 -> faults--; op[W] = SENT }
	// Rule: power changes the instance
	:: d_step { faults > 0 ->
		faults--;
		lose_cache();
#ifndef SAME_INSTANCE
		instance++;
		losses = 0;
#endif
		ending = false;
		mapping = CLOSED }
	od
}

init {
	d_step {
		todo[W] = OPS;
		todo[F] = OPS
	}
	atomic {
		run Client();
		run Server();
		run Faults()
	}
	timeout ->
		// Every request ends.
		assert(todo[W] == 0 && todo[F] == 0)
}
