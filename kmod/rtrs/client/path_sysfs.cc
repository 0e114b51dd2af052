// SPDX-License-Identifier: GPL-2.0
// The directories of a path in sysfs (protocol F.1) and debugfs. They are made by the owner when
// the path connects first, and live until the path is removed: state and address stay readable
// while it is down.
#include <cxxrt/log.hh>
#include <cxxrt/text.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/session.hh>

using namespace cxxrt;

namespace rtrs::client {

constinit const SysfsFile<Path> Path::kFiles[] = {
    SysfsFile<Path>::read_only("state", &Path::show_state),
    SysfsFile<Path>::read_only("hca_name", &Path::show_hca_name),
    SysfsFile<Path>::read_only("hca_port", &Path::show_hca_port),
    SysfsFile<Path>::read_only("src_addr", &Path::show_src_addr),
    SysfsFile<Path>::read_only("dst_addr", &Path::show_dst_addr),
    SysfsFile<Path>::read_only("nr_connections", &Path::show_connections),
    SysfsFile<Path>::read_only("cur_latency", &Path::show_latency),
    SysfsFile<Path>::read_only("heartbeats_missed", &Path::show_heartbeats_missed),
    SysfsFile<Path>::read_only("last_error", &Path::show_last_error),
    SysfsFile<Path>::read_only("last_reason", &Path::show_last_reason),
    SysfsFile<Path>::read_only("attempts", &Path::show_attempts),
    SysfsFile<Path>::read_only("next_attempt_ms", &Path::show_next_attempt),
    SysfsFile<Path>::read_only("proven", &Path::show_proven),
    SysfsFile<Path>::read_write("reconnect", &Path::show_reconnect, &Path::store_reconnect),
    SysfsFile<Path>::read_write("disconnect", &Path::show_disconnect, &Path::store_disconnect),
    SysfsFile<Path>::read_write("remove_path", &Path::show_remove, &Path::store_remove),
};

Status Path::create_files()
{
	// A path without a source turned out to be one that exists.
	if (session_.pair_in_use(*this, pair_))
		return err::eexist;
	char name[RTRS_PAIR_TEXT];
	rtrs_addr_print_pair(&pair_.src, &pair_.dst, name, sizeof(name));
	SysfsDir dir = TRY(SysfsDir::create(session_.paths_dir(), name, this, kFiles));
	TRY(stats_->create_files(dir.kobj()));
	debug_dir_ = DebugDir::create(name, &session_.debug_dir());
	debug_dir_.add_file<Path, &Path::show_wr_counters>("wr", this);
	dir_ = move(dir);
	return {};
}

void Path::remove_files()
{
	debug_dir_.reset();
	stats_->remove_files();
	dir_.reset();
}

// What requests cost the device, one line `name value` for each counter.
void Path::show_wr_counters(DebugText &out)
{
	for (const WrCounterRow &row : kWrCounterRows)
		out.print("%s %llu\n", row.name, wr_counters_.sum(row.member));
	out.print("runs %llu\n", stats_->completion_runs());
}

void Path::show_state(SysfsText &out)
{
	out.print("%s\n", to_sysfs(state()));
}

void Path::show_hca_name(SysfsText &out)
{
	LockGuard<Mutex> held(info_lock_);
	out.print("%s\n", hca_name_.c_str());
}

void Path::show_hca_port(SysfsText &out)
{
	LockGuard<Mutex> held(info_lock_);
	out.print("%u\n", hca_port_);
}

void Path::show_src_addr(SysfsText &out)
{
	char text[RTRS_ADDR_TEXT];
	LockGuard<Mutex> held(info_lock_);
	rtrs_addr_print(&shown_addresses_.src, text, sizeof(text));
	out.print("%s\n", text);
}

void Path::show_dst_addr(SysfsText &out)
{
	char text[RTRS_ADDR_TEXT];
	LockGuard<Mutex> held(info_lock_);
	rtrs_addr_print(&shown_addresses_.dst, text, sizeof(text));
	out.print("%s\n", text);
}

// Those that carry I/O.
void Path::show_connections(SysfsText &out)
{
	LockGuard<Mutex> held(info_lock_);
	out.print("%u\n", split_.irq + split_.poll);
}

void Path::show_latency(SysfsText &out)
{
	out.print("%llu ns\n", latency_ns());
}

// Of a connection that is gone nothing is missed any more.
void Path::show_heartbeats_missed(SysfsText &out)
{
	out.print("%u\n", connected() ? heartbeat_.missed() : 0);
}

void Path::show_last_error(SysfsText &out)
{
	LockGuard<SpinLock> held(state_lock_);
	out.print("%d\n", last_failure_.error);
}

void Path::show_last_reason(SysfsText &out)
{
	LastFailure last;
	{
		LockGuard<SpinLock> held(state_lock_);
		last = last_failure_;
	}
	out.print("%s\n", ReasonText(last.reason, last.error).c_str());
}

void Path::show_attempts(SysfsText &out)
{
	out.print("%u\n", reconnect_attempts());
}

// The owner may go on at any moment: what is read is the truth of one.
void Path::show_next_attempt(SysfsText &out)
{
	if (state() != State::Reconnecting || !READ_ONCE(pausing_)) {
		out.print("-1\n");
		return;
	}
	const unsigned long due = READ_ONCE(due_), now = jiffies;
	out.print("%u\n", time_before(now, due) ? jiffies_to_msecs(due - now) : 0);
}

// By which key both sides have proven who they are, when the path connected last.
void Path::show_proven(SysfsText &out)
{
	LockGuard<Mutex> held(info_lock_);
	if (proven_)
		out.print("%s:%u\n", session_.auth().key.c_str(), proven_);
	else
		out.print("none\n");
}

void Path::show_reconnect(SysfsText &out)
{
	out.print("Usage: echo 1 > reconnect\n");
}

void Path::show_disconnect(SysfsText &out)
{
	out.print("Usage: echo 1 > disconnect\n");
}

void Path::show_remove(SysfsText &out)
{
	out.print("Usage: echo 1 > remove_path\n");
}

Status Path::store_reconnect(TextView text, SysfsCall &)
{
	if (trim_newline(text) == TextView("lost"))
		return reconnect(Reconnect::IfLost);
	TRY(parse_one(text));
	return reconnect(Reconnect::Anyway);
}

Status Path::store_disconnect(TextView text, SysfsCall &)
{
	TRY(parse_one(text));
	return disconnect();
}

// Afterwards the path does not exist.
Status Path::store_remove(TextView text, SysfsCall &call)
{
	TRY(parse_one(text));
	return session_.remove_path(*this, call);
}

} // namespace rtrs::client
