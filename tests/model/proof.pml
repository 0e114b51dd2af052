// SPDX-License-Identifier: GPL-2.0
// The proof of two honest machines (protocol J.3) with somebody on the wire between them, who reads,
// drops, replays and writes whatever he likes.
//
// Of the cryptography only this is left: a code is what it was made over, and is made by those who have
// the key. So the one on the wire has codes that he has seen, and no others; of nonces those that he has
// seen, and his own, 0. Everything else that a message says is his choice. Client and server make several
// attempts, in any order and at the same time.

#ifndef ATTEMPTS
#define ATTEMPTS 3
#endif
#define EPOCHS 2	// that the client may be in
#define OWN 0		// nonce of him on the wire

// What the codes of one attempt are made over, as that side has seen it.
typedef View {
	byte uuid;	// of REQ
	byte epoch;	// of REQ
	byte server_nonce;	// of REP
	byte client_nonce	// of INFO_REQ
};

View of_client[ATTEMPTS], of_server[ATTEMPTS];
bool challenged[ATTEMPTS];	// the server's REP is out, with its nonce
bool asked[ATTEMPTS];		// the client's code is out
bool answered[ATTEMPTS];	// the server's code is out
byte by[ATTEMPTS];		// whose code it had been, then: an attempt of the client's
bool believed_once[ATTEMPTS];	// by the server, the client's code of that attempt
bool proven;			// a server has proven itself to the session
byte plain_paths, proven_paths;	// of the client that are connected
bool agree = true;

inline same_request(c, s, is_same) {
#ifdef REQUEST_IS_NOT_BOUND
	is_same = true
#else
	is_same = (of_client[c].uuid == of_server[s].uuid && of_client[c].epoch == of_server[s].epoch)
#endif
}

inline same_nonce_of_server(c, s, is_same) {
#ifdef NO_NONCE_OF_SERVER
	skip
#else
	is_same = (is_same && of_client[c].server_nonce == of_server[s].server_nonce)
#endif
}

inline same_nonce_of_client(c, s, is_same) {
	is_same = (is_same && of_client[c].client_nonce == of_server[s].client_nonce)
}

// Rule: nonces of one attempt
proctype server(byte me) {
	byte c;
	bool right;
	// REQ with an offer, or with one that he has put there.
	atomic {
		select(c : 1 .. 2); of_server[me].uuid = c;
		select(c : 1 .. EPOCHS); of_server[me].epoch = c;
		of_server[me].server_nonce = me + 1;
		challenged[me] = true
	};
	// INFO_REQ with a code of the client's.
	atomic {
		select(c : 0 .. ATTEMPTS - 1);
		if
		:: asked[c] -> same_request(c, me, right); same_nonce_of_server(c, me, right)
		:: else -> right = false
		fi;
		if
		:: right ->
			// One attempt of the client's, that is about this one of the server's, and no other.
			agree = (of_client[c].uuid == of_server[me].uuid &&
				 of_client[c].epoch == of_server[me].epoch &&
				 of_client[c].server_nonce == of_server[me].server_nonce && !believed_once[c]);
			assert(agree);
			believed_once[c] = true;
			of_server[me].client_nonce = of_client[c].client_nonce;
			by[me] = c;
			answered[me] = true
		:: else
		fi
	}
}

// Rule: proven once never plain
// REP without a nonce, which optional with a key takes, while no server has proven itself. The path then
// makes its connections, and meanwhile another one may come up: so it is looked at again.
inline connect_plain() {
#ifdef PLAIN_AGAIN
	atomic { assert(!proven); plain_paths++ };
	plain_paths--
#else
	if
	:: proven
	:: !proven ->
#ifdef LOOKED_AT_REPLY_ONLY
		atomic { assert(!proven); plain_paths++ };
		plain_paths--
#else
		if
		:: proven
		:: atomic { !proven -> plain_paths++ };
			plain_paths--
		fi
#endif
	fi
#endif
}

proctype client(byte me) {
	byte s;
	bool right;
	atomic {
		of_client[me].uuid = 1;
		select(s : 1 .. EPOCHS); of_client[me].epoch = s;
#ifdef NO_NONCE_OF_CLIENT
		of_client[me].client_nonce = 1;
#else
		of_client[me].client_nonce = me + 1;
#endif
	};
	if
#ifdef REQUIRED
	:: true
#else
	:: connect_plain()
#endif
	:: atomic {
		// REP with a nonce: of an attempt that there is, or his own.
		select(s : 0 .. ATTEMPTS);
		if
		:: s < ATTEMPTS && challenged[s] -> of_client[me].server_nonce = of_server[s].server_nonce
		:: else -> of_client[me].server_nonce = OWN
		fi;
		asked[me] = true
	   };
	   // INFO_RSP with a code that somebody has made.
	   atomic {
		select(s : 0 .. ATTEMPTS - 1);
		right = false;
		if
		:: answered[s] ->
			same_request(me, s, right);
			same_nonce_of_server(me, s, right);
			same_nonce_of_client(me, s, right);
			agree = (by[s] == me && of_client[me].uuid == of_server[s].uuid &&
				 of_client[me].epoch == of_server[s].epoch)
#ifdef ONE_LABEL
		// What it has said itself comes back.
		:: true -> right = true; agree = false
#endif
		:: else
		fi;
		if
		:: right -> assert(agree); proven = true
		:: else
		fi
	   };
	   if
	   :: right ->
#ifndef BESIDE_PLAIN
		// Those that have proven nothing are told to end, and the new one waits for that.
		(plain_paths == 0);
#endif
		atomic { assert(!plain_paths); proven_paths++ }
	   :: else
	   fi
	fi
}

init {
	byte n;
	atomic {
		for (n : 0 .. ATTEMPTS - 1) {
			run server(n);
			run client(n)
		}
	}
}
