// SPDX-License-Identifier: GPL-2.0
// An OPEN of a configured export, and an administrator who takes it away meanwhile
// (rnbd/server/messages.cc, configured.cc): when the write to the rule returns, nothing of that client is
// under way, and nothing comes.
//
// The OPEN, whose mapping gets into the session's table; the client, which writes as soon as it is there;
// the change of rules; and whatever ends mappings that were taken out of the table. Locks are atomic steps.

bool revoked, known;	// under the lock of the rules: the use, and whether it has its mapping
bool reachable;		// it stands in the session's table
bool taken;		// somebody ends it
bool ended;
byte under_way;
bool returned;

inline take() {
	if
	:: reachable -> reachable = false; taken = true
	:: else
	fi
}

// Rule: known before reachable
proctype opener() {
#ifndef KNOWN_WHEN_REACHABLE
	if
	:: atomic { revoked -> ended = true };
		goto over
	:: atomic { !revoked -> known = true }
	fi;
#endif
	atomic { reachable = true };
#ifdef NO_SECOND_LOOK
	skip;
#else
#ifdef KNOWN_WHEN_REACHABLE
	if
	:: atomic { revoked -> take() }
	:: atomic { !revoked -> known = true }
	fi;
#else
	// Two steps: the lock of the rules is not held when the table is asked.
	if
	:: revoked -> atomic { take() }
	:: else
	fi;
#endif
#endif
over:	skip
}

proctype change() {
	atomic {
		revoked = true;
		if
		:: known -> take()
		:: else
		fi
	};
	if
	:: known -> (ended)
	:: else
	fi;
	returned = true;
	assert(!(under_way))
}

proctype client(byte writes) {
	byte n;
	for (n : 1 .. writes) {
		if
		:: atomic { reachable -> under_way++; assert(!(returned)) };
			atomic { under_way-- }
		:: skip
		fi
	}
}

proctype ender() {
end:	(taken && under_way == 0);
	ended = true
}

init {
	atomic {
		run opener();
		run change();
		run client(2);
		run ender()
	}
}
