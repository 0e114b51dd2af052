// SPDX-License-Identifier: GPL-2.0
// Quiet sends of a connection (rtrs/core/connection.hh, batch_queue.cc): whoever waits for a send that
// has completed is woken, whether anything else ever interrupts or not.
//
// Two who post and then wait, on CPUs of their own; the device, which completes in order and may or may
// not bring an answer; and the poll function, which may begin on one CPU while its last run is not
// quite over on another. Each step is one that the others may see: memory is as its barriers make it.
// A run ends when nothing can go on. Who waits then has been forgotten.

byte posted;		// all signaled: their number is their place
byte sent;		// completed by the device
byte found;		// of which the poll function knows
byte awaited;		// written under the lock of the send queue
bool sends_armed;
bool answers_armed = true;
bool answered;
bool scheduled;		// irq_poll's bit: a poll will come, or runs
bool due;		// and has not begun

inline schedule() {
	if
	:: !scheduled -> scheduled = true; due = true
	:: else
	fi
}

// Rule: seen or scheduled
// First the place, then the queue is armed, then a poll is asked for.
proctype poster(byte posts) {
	byte n, place;
	bool missed;
	for (n : 1 .. posts) {
		atomic { posted++; place = posted };
#ifdef ARM_BEFORE_THE_PLACE
		sends_armed = true;
		atomic { awaited = posted };
		missed = false;
#else
		atomic { awaited = posted };
#ifdef ARMED_BY_POLLS_ONLY
		missed = false;
#else
		atomic { sends_armed = true; missed = (sent > found) };
#endif
#endif
		if
		:: missed -> atomic { schedule() }
		:: else
		fi;
		(found >= place)
	}
}

proctype device() {
	// It waits for something to do, or there is nothing any more.
end:	do
	:: atomic { sent < posted -> sent++;
		if
		:: sends_armed -> sends_armed = false; schedule()
		:: else
		fi }
	:: atomic { !answered -> answered = true;
		if
		:: answers_armed -> answers_armed = false; schedule()
		:: else
		fi }
	:: atomic { !answered -> break }
	od;
	// No answer: nothing else interrupts.
end_quiet:	do
	:: atomic { sent < posted -> sent++;
		if
		:: sends_armed -> sends_armed = false; schedule()
		:: else
		fi }
	od
}

proctype poll_function() {
	bool waits, missed;
	byte seen;
end:	do
	:: atomic { due -> due = false };
		if
		:: found < posted || awaited > found -> seen = sent; found = seen
		:: else
		fi;
#ifdef LOOK_BEFORE_THE_END
		waits = (awaited > found);
		scheduled = false;
#else
		scheduled = false;
		waits = (awaited > found);
#endif
		missed = false;
		answers_armed = true;
		if
		:: waits -> atomic { sends_armed = true; missed = (sent > found) }
		:: else
		fi;
		if
		:: missed -> atomic { schedule() }
		:: else
		fi
	od
}

init {
	atomic {
		run device();
		run poster(2);
		run poster(1);
		run poll_function();
		run poll_function()
	}
}
