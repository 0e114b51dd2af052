// SPDX-License-Identifier: GPL-2.0
// Files of a path in sysfs (protocol F.2) and in debugfs.
//
// None of the methods takes the session's lock, which is held while the files are removed.
#include <cxxrt/log.hh>
#include <cxxrt/text.hh>
#include <rtrs/pure/sysfs_text.hh>
#include <rtrs/server/path.hh>
#include <rtrs/server/session.hh>

using namespace cxxrt;

namespace rtrs::server {
namespace {

void print_address(SysfsText &text, const sockaddr_storage &address)
{
	TextBuffer<RTRS_ADDR_TEXT> buffer;
	rtrs_addr_print(&address, buffer.data(), RTRS_ADDR_TEXT);
	text.print("%s\n", buffer.c_str());
}

template <class T> void clear(const PerCpu<T> &counters, u64 T::*member)
{
	counters.for_each([&](int, T &copy) { WRITE_ONCE(copy.*member, 0); });
}

} // namespace

Status Path::show(kobject *parent, const DebugDir &debug)
{
	using File = SysfsFile<Path>;
	static constexpr File kFiles[] = {
	    File::read_only("hca_name", &Path::show_hca_name),
	    File::read_only("hca_port", &Path::show_hca_port),
	    File::read_only("src_addr", &Path::show_src_addr),
	    File::read_only("dst_addr", &Path::show_dst_addr),
	    File::read_only("proven", &Path::show_proven),
	    File::read_write("disconnect", &Path::show_disconnect, &Path::store_disconnect),
	};
	static constexpr File kStatsFiles[] = {
	    File::read_write("rdma", &Path::show_rdma, &Path::store_rdma),
	    File::read_write("wc_completion", &Path::show_completions, &Path::store_completions),
	    File::read_write("reset_all", &Path::show_reset_all, &Path::store_reset_all),
	};
	dir_ = TRY(SysfsDir::create(parent, name(), this, kFiles));
	stats_dir_ = TRY(SysfsDir::create(dir_.kobj(), "stats", this, kStatsFiles));
	debug_dir_ = DebugDir::create(name(), &debug);
	debug_dir_.add_file<Path, &Path::show_work_requests>("wr", this);
	return {};
}

void Path::hide()
{
	debug_dir_.reset();
	stats_dir_.reset();
	dir_.reset();
}

void Path::show_hca_name(SysfsText &text)
{
	text.print("%s\n", hca_name_.c_str());
}

void Path::show_hca_port(SysfsText &text)
{
	text.print("%u\n", hca_port_);
}

// Seen from the client, as in the path's name.
void Path::show_src_addr(SysfsText &text)
{
	print_address(text, ends_.client);
}

void Path::show_dst_addr(SysfsText &text)
{
	print_address(text, ends_.server);
}

// By which key both sides have proven who they are (protocol J.3). It never changes.
void Path::show_proven(SysfsText &text)
{
	if (key_)
		text.print("%s:%u\n", key_->name.c_str(), key_->generation.value);
	else
		text.print("none\n");
}

void Path::show_disconnect(SysfsText &text)
{
	text.print("Usage: echo 1 > disconnect\n");
}

// The close work removes the directory, which waits for this method: so nothing here waits for the
// work (protocol G.1-15), and the path lives until the method has returned, which is why the file
// does not remove itself.
Status Path::store_disconnect(TextView input, SysfsCall &)
{
	if (const Status s = parse_one(input); !s.ok()) {
		log_error_limited(name(), "disconnect: write 1");
		return s;
	}
	if (!closing())
		log_info(name(), "disconnect: requested by the administrator");
	close();
	return {};
}

void Path::show_rdma(SysfsText &text)
{
	// The slots know it; nothing is counted on the way of a request for it.
	u64 in_flight = 0;
	for (const RequestSlot &slot : session())
		in_flight += slot.concerns(tag());
	text.print("%llu %llu %llu %llu %llu\n", stats_.sum(&PathStats::reads),
		   stats_.sum(&PathStats::read_bytes), stats_.sum(&PathStats::writes),
		   stats_.sum(&PathStats::write_bytes), in_flight);
}

Status Path::store_rdma(TextView input, SysfsCall &)
{
	TRY(parse_reset(input));
	clear(stats_, &PathStats::reads);
	clear(stats_, &PathStats::read_bytes);
	clear(stats_, &PathStats::writes);
	clear(stats_, &PathStats::write_bytes);
	return {};
}

void Path::show_completions(SysfsText &text)
{
	u64 max = 0;
	stats_.for_each(
	    [&](int, const PathStats &s) { max = max_of(max, u64{READ_ONCE(s.completion_max)}); });
	const u64 runs = stats_.sum(&PathStats::completion_runs);
	text.print("%llu %llu %llu\n", max_of(max, u64{runs != 0}),
		   stats_.sum(&PathStats::completions), runs);
}

Status Path::store_completions(TextView input, SysfsCall &)
{
	TRY(parse_reset(input));
	clear(stats_, &PathStats::completions);
	clear(stats_, &PathStats::completion_runs);
	clear(stats_, &PathStats::completion_max);
	return {};
}

void Path::show_reset_all(SysfsText &text)
{
	text.print("echo 1 to reset all statistics\n");
}

Status Path::store_reset_all(TextView input, SysfsCall &call)
{
	TRY(store_rdma(input, call));
	return store_completions(input, call);
}

void Path::show_work_requests(DebugText &text)
{
	for (const WrCounterRow &row : kWrCounterRows)
		text.print("%s %llu\n", row.name, wr_counters_.sum(row.member));
	text.print("runs %llu\n", stats_.sum(&PathStats::completion_runs));
}

} // namespace rtrs::server
