// SPDX-License-Identifier: GPL-2.0
// Life of a path: creation, states, and the close work.
#include <rtrs/server/path.hh>

#include <cxxrt/log.hh>
#include <rtrs/core/delayed_dreq.hh>
#include <rtrs/server/module.hh>
#include <rtrs/server/server.hh>
#include <rtrs/server/session.hh>
#include <rtrs/server/trace.hh>

using namespace cxxrt;

namespace rtrs::server {
namespace {

// Where the next path's service connection is; neighbouring paths do not share their vectors.
constinit u32 next_vector = 0;

// Seconds that nothing is acknowledged on a connection, before it counts as one that loses what is
// large. A client that does not run at all is silent meanwhile.
constexpr u64 kStarvedLooks = 10;
static_assert(kStallInterval == HZ);

} // namespace

Path::Path(Server &server, const rdma_cm_id &id, const ConnectRequestFields &fields, u32 serial,
	   u32 instance, Box<Exchange> exchange, Box<Admitted> place)
    : server_(server), asked_(fields),
      heartbeat_limits_(heartbeat_defaults(fields.short_heartbeats)), serial_(serial),
      instance_(instance), ends_(PathEnds::of(id)), hca_port_(id.port_num),
      admitted_(cxxrt::move(place)), capsules_(fields.capsules && settings().capsules),
      exchange_(cxxrt::move(exchange)), setup_wait_(cxxrt::lock_class<"rtrs_setup">()),
      heartbeat_handler_{{ServerConnection::sent}, nullptr},
      heartbeat_(this, heartbeat_lost, &heartbeat_handler_.cqe, heartbeat_limits_), stalls_(this),
      handshake_timer_(this), revalidate_(this), info_(this), fence_(this), close_(this), end_(this)
{
	if (exchange_)
		state_.begin_applying();
	rtrs_addr_print_pair(&ends_.client, &ends_.server, name_.data(), RTRS_PAIR_TEXT);
	hca_name_.assign(TextView::of(dev_name(&id.device->dev)));
	// All connections of a path are spread anew; see vector_for().
	vector_base_ = static_cast<int>(
	    __atomic_fetch_add(&next_vector, connection_count(), __ATOMIC_RELAXED) & 0xffff);
}

Path::~Path() = default;

Result<Ref<Path>> Path::create(Server &server, const rdma_cm_id &id,
			       const ConnectRequestFields &fields, u32 serial, u32 instance,
			       Box<Exchange> exchange, Box<Admitted> place)
{
	Path *object = new (GFP_KERNEL)
	    Path(server, id, fields, serial, instance, cxxrt::move(exchange), cxxrt::move(place));
	if (!object)
		return err::enomem;
	Ref<Path> path = Ref<Path>::adopt(object);
	TRY(path->allocate());
	return path;
}

void Path::start_handshake_timer()
{
	handshake_timer_.queue_after(module_->timers, msecs_to_jiffies(kConnectTimeoutMs));
	server_.admission().may_give_way(*admitted_, give_way, this);
}

// Under the admission's lock. The path is half-open, so its close work has not come to the end of
// the handshake, behind which it cancels the timer.
void Path::give_way(void *path)
{
	static_cast<Path *>(path)->handshake_timer_.requeue_after(module_->timers, 0);
}

// A path that applies closes meanwhile without a look at its session: close().
Status Path::join(Session &session, PathTag tag)
{
	session_ = Ref<Session>::share(&session);
	tag_ = tag;
	Status s;
	switch (session.open_paths().enter()) {
	case OpenPaths::Entry::Ended:
		s = kSessionEnded;
		break;
	case OpenPaths::Entry::Full:
		s = err::econnreset;
		break;
	case OpenPaths::Entry::Entered:
		return {};
	}
	session_.reset();
	return s;
}

// close() of a path that applies leaves the session to this work item, and the close work waits for
// it: then it tells the session of the path's end, as of every other's.
// Another path of it may have relied on that.
bool Path::go_on()
{
	if (move(ServerPathState::Connecting))
		return true;
	session_->open_paths().leave();
	return false;
}

Status Path::allocate()
{
	wr_counters_ = TRY(PerCpu<WrCounters>::create());
	stats_ = TRY(PerCpu<PathStats>::create());
	inflight_ = TRY(InflightEvent::create());
	connections_ = TRY(Array<Box<ServerConnection>>::create(connection_count()));
	return {};
}

// Under connect_lock_, and no other: a device takes its time.
Status Path::open_device(ib_device *ibdev)
{
	device_ = TRY(PathDevice::open(ibdev));
	// Only if each request gives its chunk a new key.
	if (settings().always_invalidate && device_.replays_local_wrs())
		state_.give_throttles();
	// Longer messages than those that are due break the connection.
	const usize info = exchange_ ? kProvenInfoRequestSize : sizeof(InfoRequest);
	info_request_ = TRY(DmaBuffer::create(ibdev, info, DMA_FROM_DEVICE));
	return {};
}

// The memory that the client reaches, its session's if it is the first path of that: when INFO_REQ
// has come, in its work item, where a device that takes its time holds up no other client. EAGAIN:
// there will be room soon.
Status Path::provide()
{
	server_.admission().handshake_over(*admitted_);
	TRY(session_->provide(admitted_->stranger));
	has_slots_ = true;
	return allocate_regions();
}

// What the client reaches, and learns by INFO_RSP.
Status Path::allocate_regions()
{
	const bool invalidate = settings().always_invalidate;
	ib_device *ibdev = device_.ibdev();
	const RegionPlan plan = TRY(PathRegions::plan(device_, session_->chunks(), invalidate));
	TRY(server_.admission().add_memory(
	    *admitted_, regions_bytes(plan.split.count, plan.pages(), settings().queue_depth())));
	regions_ = TRY(PathRegions::create(device_, session_->chunks(), plan));
	const usize info = exchange_ ? proven_info_response_size(regions_.count())
				     : info_response_size(regions_.count());
	info_response_ = TRY(DmaBuffer::create(ibdev, info, DMA_TO_DEVICE));
	if (invalidate || capsules_)
		answers_ = TRY(DmaBuffer::create(
		    ibdev, sizeof(RkeyResponse) * settings().queue_depth(), DMA_TO_DEVICE));
	return {};
}

int Path::vector_for(u16 cid) const
{
	const int vectors = device_.ibdev()->num_comp_vectors;
	return vectors > 1 ? (vector_base_ + cid) % vectors : 0;
}

// ---- state ----

bool Path::move(ServerPathState to)
{
	ServerPathState from;
	if (!state_.move(to, from))
		return false;
	trace::state(*this, from, to);
	return true;
}

bool Path::State::move(ServerPathState to, ServerPathState &from)
{
	u8 seen = __atomic_load_n(&value_, __ATOMIC_ACQUIRE);
	u8 value;
	do {
		from = state_of(seen);
		if (!transition_allowed(from, to))
			return false;
		const u8 posts = to == ServerPathState::Connected ? kPosts : 0;
		value = static_cast<u8>(static_cast<u8>(to) | posts | (seen & kHasThrottles));
	} while (!__atomic_compare_exchange_n(&value_, &seen, value, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return true;
}

// Callers are inside something that the close work waits for, or hold the session's lock: so the
// path is alive until its work is queued, which then holds a reference.
void Path::close()
{
	ServerPathState from;
	if (!state_.move(ServerPathState::Closing, from))
		return;
	trace::state(*this, from, ServerPathState::Closing);
	// A path that applies is in no session yet, or is about to find out that it goes no
	// further.
	if (from != ServerPathState::Applying)
		session_->open_paths().leave();
	setup_wait_.wake_all();
	close_.queue(module_->closing);
}

void Path::refuse(Refusal why, const char *detail)
{
	if (closing())
		return;
	module_->refusals.count(why);
	trace::refusal(*this, why);
	log_error_limited(name(), "closing the path: %s", detail);
	close();
}

void Path::fail(const ib_wc &wc)
{
	// A flushed completion is a consequence of what closed the path, or of the peer's
	// disconnect, whose event closes it too.
	if (closing())
		return;
	if (wc.status != IB_WC_WR_FLUSH_ERR) {
		module_->refusals.count(Refusal::CompletionError);
		trace::refusal(*this, Refusal::CompletionError);
		log_error_limited(name(), "closing the path: work completion: %s",
				  ib_wc_status_msg(wc.status));
	}
	close();
}

// A path does not stay half-open for longer than its client would wait (protocol G.1-68), nor as
// long as another one that has no room otherwise would. It covers all until the heartbeat goes on.
void Path::handshake_timeout()
{
	if (!closing() && !READ_ONCE(announced_))
		refuse(Refusal::HandshakeTimeout, "handshake not finished in time");
}

void Path::heartbeat_lost(void *path)
{
	static_cast<Path *>(path)->refuse(Refusal::HeartbeatLost, "HB missed max reached.");
}

// Each look at the send queues of a path that is connected. Answers are held while a queue stands
// still, so no other post would wake it. One that does so for long, though the client's heartbeats
// come, is of a path that loses large packets: the client sends its requests elsewhere.
void Path::wake_stalled()
{
	for (auto &con : connections_) {
		Status s;
		{
			RcuReader posting;
			if (!may_post())
				return;
			s = con->wake_if_stalled(con->send_cqe());
		}
		if (!s.ok()) {
			refuse(Refusal::CompletionError, "a send queue could not be woken");
			return;
		}
		if (!con->stands_still())
			con->heard_mark = heartbeat_.mark();
		if (con->stands_still() >= kStarvedLooks &&
		    heartbeat_.heard_since(con->heard_mark)) {
			WRITE_ONCE(starved_, true);
			refuse(Refusal::PathStarved,
			       "the client is heard and does not acknowledge what is sent: are "
			       "large packets lost on the way (MTU)?");
			return;
		}
	}
	stalls_.queue_after(module_->io, kStallInterval);
}

// ---- end ----

void Path::reach(Progress progress)
{
	__atomic_store_n(&progress_, progress, __ATOMIC_RELEASE);
	if (session_)
		session_->progressed(*this);
}

// With the lock held, and before the close work has waited for who holds it: so it cancels what is
// queued here.
void Path::look_again()
{
	if (closing())
		return;
	if (__atomic_load_n(&fence_serial_, __ATOMIC_ACQUIRE))
		fence_.requeue_after(module_->control, 0);
	if (__atomic_load_n(&info_due_, __ATOMIC_ACQUIRE) && state() == ServerPathState::Connecting)
		info_.requeue_after(module_->control, 0);
}

// Each step needs those before it:
//  1. The state is CLOSING (whoever queued this has set it): no connection is added, no request is
//     taken, the handshake does not go on. Works and requests of the connection manager that saw
//     an older state are waited for.
//  2. A grace period: whoever saw the path CONNECTED has posted; with the heartbeat stopped, and
//     the looks at its send queues, nothing is posted any more.
//  3. Every connection is disconnected, where the peer could hear of it, and drained: every
//     completion handler has run, and so has what follows a batch of them; none will run again. No
//     request arrives.
//  4. What waits in queues of ours is dropped: answers without room, requests behind another
//     path's. What is on its way to the user from there is awaited. Each request of this path
//     has been handed over now, or dropped.
//  5. The user is told, who holds some back, too, and takes the path off, and the session if that
//     has ended. From here on the path is quiet, which is what a fence waits for, and a new path.
//  6. The sysfs directory goes, and of a session that has ended the name: the client's next attempt
//     wants to use them.
//  7. Memory regions, then mappings, queue pairs with the memory that they receive into, and the
//     device's protection domain; then the ids, which waits for running event handlers. The removal
//     of a device waits for its ids: so they go last. Nothing here waits for a disk, although the
//     user may still have requests, for hours. That is safe because the only thing that follows
//     for them is his answer, RequestSlot::respond() to Path::leave(). What it uses: the slot and
//     the chunk, which are the session's, whose memory the path keeps; the state of the path, on
//     which it drops the answer before it looks at connection, queue pair, region or device, and
//     step 2 has waited for those who saw another one; the path's statistics and in-flight count.
//     The disk reads and writes the chunk, not the mapping of it that is taken back here, and that
//     does not write to the chunk (PathRegions).
//  8. The in-flight count closes behind the last request, whoever answers it: the rest is done by
//  run_end().
void Path::run_close()
{
	// First, so that no other path queues the timer any more, and none of its own requests
	// waits for room.
	server_.admission().ends(*admitted_);
	handshake_timer_.cancel_sync();
	// It is this work that joins a session: behind it that does not change any more, and a
	// path that is in none lacks everything that is one's.
	info_.cancel_sync();
	server_.await_applications();
	Session *session = session_.get();
	if (session)
		session->await_connection_requests();
	// Before the client hears of the end.
	if (session && READ_ONCE(starved_))
		session->quarantine(*this);
	await_connection_requests();
	info_.cancel_sync();
	// Queued by the one above.
	revalidate_.cancel_sync();
	fence_.cancel_sync();

	heartbeat_.stop();
	stalls_.cancel_sync();
	synchronize_rcu();

	const DelayedDreq dreq =
	    DelayedDreq::of(device_, is_unused() ? nullptr : connections_[0]->cm_id);
	if (dreq.at_once())
		for (auto &con : connections_)
			if (con)
				con->disconnect();
	for (auto &con : connections_)
		if (con)
			con->drain();
	// The softirq looks at its connection even after it has said that it is done.
	synchronize_rcu();
	// A last INFO_REQ or FENCE may have queued them again. They see the state and do nothing.
	info_.cancel_sync();
	fence_.cancel_sync();

	for (auto &con : connections_)
		if (con)
			con->drop_pending();
	if (session) {
		if (has_slots_)
			for (RequestSlot &slot : *session)
				slot.forget(*this);
		session->release_tag(*this);
		session->take_down(*this);
	}
	reach(kQuiet);

	if (session)
		session->hide(*this);
	predecessor_.reset();
	reach(kHidden);

	regions_.reset();
	answers_.reset();
	info_request_.reset();
	info_response_.reset();
	for (auto &con : connections_)
		if (con)
			con->release_queues();
	device_.reset();
	dreq.wait();
	for (auto &con : connections_)
		if (con)
			con->destroy_id();
	for (auto &con : connections_)
		con.reset();
	server_.admission().leave(*admitted_);
	log_info(name(), "disconnected");

	inflight_->shut(all_left, this);
}

// In the context of the last answer, or of run_close().
void Path::all_left(void *path)
{
	auto *self = static_cast<Path *>(path);
	self->end_.queue(module_->closing);
}

void Path::run_end()
{
	move(ServerPathState::Closed);
	reach(kEnded);
	if (session_)
		session_->remove(*this);
	else
		server_.remove_unauthenticated(*this);
}

} // namespace rtrs::server
