// SPDX-License-Identifier: GPL-2.0
// Three paths of a session, a server that is loaded anew, a cable that stays cut: every path that can
// connect does, and the user never uses device ids of a session that the server has forgotten.
//
// Without requests. A try to connect is one step, and is made again and again, so runs are endless:
// the property is one of fair runs (each process that can go on does so some time).

#define PATHS 3
#ifndef RESTARTS
#define RESTARTS 2
#endif

#define DOWN 0
#define TRYING 1	// INFO_RSP is here
#define CONNECTED 2
#define LEAVING 3

// ---- client ----
byte path_state[PATHS];
byte instance[PATHS];	// what REP told last, also of a path that is down since
bool counted[PATHS];	// in paths_up, which the user's events follow
byte paths_up;
byte opened;		// the instance whose device ids the user has, 0 for none
bool stale;		// the server has forgotten these, which nobody in the model may look at
bool cut;		// the cable of path 0

// ---- server ----
bool is_open[PATHS];
byte present;		// instance that a REQ finds, 0 for none

bool calm;		// nothing fails any more

#define UP(p) (path_state[p] == CONNECTED && is_open[p])

inline server_forgets(p) {
	is_open[p] = false;
	if
	:: !is_open[0] && !is_open[1] && !is_open[2] -> present = 0; stale = (opened != 0)
	:: else
	fi
}

// Rule: one life one session
// Who finds no session with an open path makes one, of another instance.
inline connect(p) {
	server_forgets(p);
#ifdef SAME_INSTANCE
	present = 1;
#else
	if
	:: !present ->
		// A random number: one that nobody remembers.
		present = 1;
		do
		:: present == instance[0] || present == instance[1] || present == instance[2] ||
		   present == opened -> present++
		:: else -> break
		od
	:: else
	fi;
#endif
	is_open[p] = true;
	instance[p] = present;
	path_state[p] = TRYING
}

hidden byte k;
hidden byte lost;

// Rule: older instance goes first
// A path comes up in another instance than an older one only when the user has been told of its loss.
// Rule: only counted paths are stale
// A path that is down, and counted so, belongs to no instance, whatever it was told once.
inline come_up(p) {
	lost = 0;
	for (k : 0 .. PATHS - 1) {
		if
#ifndef MIXED_INSTANCES
		:: k != p && instance[k] && instance[k] != instance[p] ->
			if
			:: path_state[k] == CONNECTED -> path_state[k] = LEAVING
			:: else
			fi;
#ifdef OLD_STALE_INSTANCE
			lost = (paths_up != 0)
#else
			lost = lost || counted[k]
#endif
#endif
		:: else
		fi
	}
	if
	:: lost -> path_state[p] = DOWN
	:: else ->
		path_state[p] = CONNECTED;
		counted[p] = true;
		paths_up++
	fi
}

inline go_down(p) {
	path_state[p] = DOWN;
	counted[p] = false;
	paths_up--;
	if
	:: paths_up == 0 -> opened = 0; stale = false
	:: else
	fi
}

proctype Path(byte p)
{
end:	do
	:: d_step { path_state[p] == DOWN && !(p == 0 && cut) -> connect(p) }
	:: d_step { path_state[p] == TRYING && is_open[p] -> come_up(p) }
	:: d_step { path_state[p] == TRYING && (!is_open[p] || (p == 0 && cut)) -> path_state[p] = DOWN }
	:: d_step { path_state[p] == CONNECTED && (!is_open[p] || (p == 0 && cut)) -> path_state[p] = LEAVING }
	:: d_step { path_state[p] == LEAVING -> go_down(p) }
	od
}

// The server finds that a client has left.
proctype Silence(byte p)
{
end:	do
	:: d_step { is_open[p] && (path_state[p] == DOWN || (p == 0 && cut)) -> server_forgets(p) }
	od
}

#define USE(p) \
	:: d_step { UP(p) && !opened -> opened = instance[p] } \
	:: d_step { UP(p) && opened && (opened != instance[p] || stale) -> assert(opened == instance[p] && !stale) }

// Opens its devices when it has been told of a path, and sends requests over any.
proctype User()
{
end:	do
	USE(0)
	USE(1)
	USE(2)
	od
}

proctype Faults()
{
	byte n = RESTARTS;
	do
	:: d_step { n > 0 -> n--; is_open[0] = false; is_open[1] = false; is_open[2] = false;
		server_forgets(2) }
	:: d_step { n > 0 && is_open[1] -> n--; server_forgets(1) }
	:: d_step { n > 0 && path_state[2] == CONNECTED -> n--; path_state[2] = LEAVING }
	:: d_step { !cut -> cut = true }
	:: calm = true; break
	od
}

init {
	d_step {
		present = 1;
		opened = 1;
		paths_up = PATHS;
		for (k : 0 .. PATHS - 1) {
			path_state[k] = CONNECTED;
			instance[k] = 1;
			counted[k] = true;
			is_open[k] = true
		}
	}
	atomic {
		run Path(0); run Path(1); run Path(2);
		run Silence(0); run Silence(1); run Silence(2);
		run User();
		run Faults()
	}
}

// Every path that can connect does, and stays.
ltl connects { <> calm -> <> [] (UP(1) && UP(2) && (UP(0) || cut)) }
