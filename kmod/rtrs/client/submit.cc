// SPDX-License-Identifier: GPL-2.0
// The way of a request out: it is checked, gets its connection, is mapped for the device, and is
// posted (post.hh). Where a session has one path all of it is Session::submit(), in one function.
#include <rtrs/client/path.hh>
#include <rtrs/client/post.hh>
#include <rtrs/client/session.hh>
#include <rtrs/client/trace.hh>
#include <rtrs/wire/io_header.hh>

using namespace cxxrt;

namespace rtrs::client {
namespace {

// The list of a request, mapped for DMA until release() or the end of the scope.
class MappedList {
public:
	MappedList(ib_device *ibdev, const rtrs_clt_request &in, dma_data_direction direction)
	    : ibdev_(ibdev), in_(in), direction_(direction)
	{
		if (in.nr_sg)
			count_ = static_cast<int>(
			    ib_dma_map_sg(ibdev, in.sg, static_cast<int>(in.nr_sg), direction));
	}
	MappedList(const MappedList &) = delete;
	MappedList &operator=(const MappedList &) = delete;
	~MappedList()
	{
		if (count_ > 0) [[unlikely]]
			ib_dma_unmap_sg(ibdev_, in_.sg, static_cast<int>(in_.nr_sg), direction_);
	}
	bool failed() const { return in_.nr_sg && count_ <= 0; }
	// Entries to use: mapping may have merged some (protocol G.1-46).
	int count() const { return count_; }
	// What they have, for a request that says how many bytes it moves.
	u64 bytes() const
	{
		scatterlist *sg = in_.sg;
		u64 total = sg_dma_len(sg);
		for (int i = 1; i < count_; i++) {
			sg = sg_next(sg);
			total += sg_dma_len(sg);
		}
		return total;
	}
	void release() { count_ = 0; }

private:
	ib_device *ibdev_;
	const rtrs_clt_request &in_;
	dma_data_direction direction_;
	int count_ = 0;
};

} // namespace

// Each CPU has a connection, whose completions come back to it, or shares one with its neighbours.
inline ClientConnection &Path::connection_for(const Hctx &hctx)
{
	const bool polled = hctx.poll_queue && hctx.poll_queue <= split_.poll;
	return *connections_[polled ? split_.irq + hctx.poll_queue : 1 + hctx.queue % split_.irq];
}

[[gnu::always_inline]] inline Status Path::take(const rtrs_clt_request &in)
{
	const bool read = in.dir == RTRS_READ;
	const bool has_data = in.data_len != 0;
	if (in.msg_len > RTRS_MAX_USER_MSG || in.data_len > session_limits_->max_io_size)
		return err::emsgsize;
	if (has_data != (in.nr_sg != 0))
		return err::einval;
	const ChunkOffset offset =
	    TRY(place_request(read ? Direction::Read : Direction::Write, ByteCount{in.data_len},
			      ByteCount{static_cast<u32>(in.msg_len)}, read && has_data,
			      session_limits_->chunk, session_limits_->reply.max_header_size));

	Request &r = (*requests_)[Slot{in.slot}];
	// The slot is the caller's, so nobody else is in its entry.
	if (WARN_ON_ONCE(r.state != RequestState::Idle))
		return err::ebusy;
	ClientConnection &con =
	    in.admin ? *connections_[0] : connection_for({in.poll_queue, in.queue});

	MappedList list(device_.ibdev(), in, read ? DMA_FROM_DEVICE : DMA_TO_DEVICE);
	if (list.failed())
		return err::enomem;
	if (has_data && list.bytes() != in.data_len)
		return err::einval;
	const u32 data_sges = static_cast<u32>(list.count());
	const bool use_region = has_data && (read || data_sges + 1 > con.send_sges());
	if (use_region) {
		TRY(r.region.map(in.sg, list.count(), kClientSegmentSize));
		// A list with gaps on a device that can't register them.
		if (r.region.length() != in.data_len)
			return err::einval;
		// What a peer may have kept of an earlier request opens nothing.
		r.region.renew_key();
	}

	r.in = in;
	r.in.more = false; // should it have to go another way
	r.mapped = static_cast<s16>(use_region ? -1 : list.count());
	r.connection = &con;
	r.offset = offset;
	r.cpu = raw_smp_processor_id();
	r.started_ns = ktime_get_ns();
	r.status = 0;
	trace::submit(*this, r);
	write_message(r);
	if (!in.more && con.posts_at_once(use_region)) {
		TRY(post(r, Signal::WhenDue));
	} else if (con.collects_freely()) [[likely]] {
		con.collect(r);
		if (!in.more)
			con.commit();
	} else {
		TRY(take_slow_path(con, r, in.more));
	}
	list.release();
	return {};
}

Status Path::submit(const rtrs_clt_request &in)
{
	return take(in);
}

Status Session::submit(const rtrs_clt_request &request, SubmitKind kind)
{
	if (!limits_->layout.queue_depth().contains(Slot{request.slot}))
		return err::einval;
	const RcuReader reader;
	// With one path there is no choice, whatever the policy.
	if (Path *path = paths_.only(); path && kind == SubmitKind::New && path->connected())
	    [[likely]] {
		trace::choice(*this, path, request, kind);
		return path->take(request);
	}
	return choose_and_submit(request, kind);
}

void Path::commit(const Hctx &hctx)
{
	ClientConnection &con = connection_for(hctx);
	if (con.collects())
		con.commit();
}

int Path::poll(u32 queue, io_comp_batch *batch)
{
	if (queue >= split_.poll)
		return 0;
	return connections_[1 + split_.irq + queue]->poll(batch);
}

} // namespace rtrs::client
