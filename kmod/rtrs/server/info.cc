// SPDX-License-Identifier: GPL-2.0
// The INFO exchange, by which a path becomes CONNECTED (protocol A.4, A.8, B.2).
//
// INFO_REQ is parsed where it arrives; the rest runs on the control queue, because it makes sysfs
// entries and calls the user. What has to be waited for is looked for by each run of that work: it
// is woken when another path of the session has come closer to its end, and looks by itself for the
// rest, which is the name that another session has.
#include <cxxrt/log.hh>
#include <rtrs/server/module.hh>
#include <rtrs/server/server.hh>
#include <rtrs/server/session.hh>

using namespace cxxrt;

namespace rtrs::server {
namespace {

// How long a new path waits for an old one to leave its name: the old one is closing already.
constexpr unsigned kNameTimeoutSeconds = 10;
// When the answer to a heartbeat is looked for, and when its lack is proof.
constexpr unsigned kAnswerSeconds = 1;
constexpr unsigned kSilenceSeconds = 4;
// How often.
constexpr unsigned long kLookDelay = HZ / 50;

// Registrations in one chain; bounds the stack.
constexpr u32 kRegisterChain = 8;
static_assert(kRegisterChain <= ServerConnection::max_service_chain());

} // namespace

// The memory is the path's, and no receive is posted into it again.
void Path::on_info_request(ByteView message)
{
	if (exchange_) {
		info_size_ = static_cast<u32>(message.size());
	} else {
		const Result<SessionName> name = parse_info_request(message);
		if (!name.ok()) {
			refuse(Refusal::InfoMalformed, "malformed INFO_REQ");
			return;
		}
		wanted_name_.assign(name->view());
	}
	on_heard();
	info_at_ = jiffies;
	__atomic_store_n(&info_due_, true, __ATOMIC_RELEASE);
	info_.requeue_after(module_->control, 0);
}

void Path::run_info()
{
	server_.admission().heard(*admitted_);
	Status s;
	if (state() == ServerPathState::Applying)
		s = admit();
	if (s.ok() && state() != ServerPathState::Connecting)
		return;
	if (s.ok())
		s = await_others();
	if (s.ok())
		s = provide();
	if (!s.ok() && s.error() == err::eagain) {
		info_.queue_after(module_->control, kLookDelay);
		return;
	}
	if (s.ok())
		s = become_connected();
	if (s.ok())
		return;
	if (!closing())
		log_error_limited(name(), "handshake failed, error %d", s.code());
	close();
}

// Proves once, and joins a session when it can. EAGAIN: not yet.
Status Path::admit()
{
	if (exchange_->state != ServerAuth::Proven) {
		TRY(check_proof());
		server_.admission().proven(*admitted_);
	}
	return server_.admit(*this);
}

// EAGAIN: not yet. The handshake's timer bounds what is not bounded here.
Status Path::await_others()
{
	if (!all_accepted()) {
		refuse(Refusal::InfoMalformed, "INFO_REQ before all connections are there");
		return err::eproto;
	}
	TRY(check_policy());
	TRY(check_name());
	// If it takes longer, the directory exists and this path closes.
	if (predecessor_ && !predecessor_->hidden() &&
	    time_before(jiffies, info_at_ + kNameTimeoutSeconds * HZ))
		return err::eagain;
	TRY(claim_name());
	return session_->must_wait(*this) ? Status(err::eagain) : Status();
}

Status Path::become_connected()
{
	// Before anything tells the client that it may send.
	for (auto &con : connections_)
		TRY(con->post_recvs());
	TRY(session_->bring_up(*this, wanted_name_.view()));
	// Whatever waits for room in the queue waits before the path counts as connected.
	TRY(register_all(*connections_[0]));
	if (!move(ServerPathState::Connected))
		return err::econnaborted;
	TRY(send_info_response());
	exchange_.reset();
	revalidate_.queue_after(module_->control, kRevalidateInterval);
	heartbeat_.start(connections_[0].get(), module_->io);
	stalls_.queue_after(module_->io, kStallInterval);
	WRITE_ONCE(announced_, true);
	log_info(name(), "connected, session %s", session_->name());
	return {};
}

// A name belongs to one session at a time (protocol G.1-30), and all paths of a session use the
// same. A client that comes while an old session still has the name has either closed that one,
// whose paths are about to go, or lost it, or was started anew after a crash. Then the old one may
// not know yet (protocol G.3-12): it is asked for a sign of life. If it gives one, the name is
// taken; if not, and both are of one host, where two clients of one name cannot live side by side,
// the old session is dead.
Status Path::claim_name()
{
	Server &server = server_;
	const Status s = server.claim_name(*session_, wanted_name_.view());
	if (s.ok() || s.error() == err::econnaborted)
		return s;
	bool taken = s.error() == err::einval;
	if (s.error() == err::eexist) {
		const Ref<Session> holder = server.find_by_name(wanted_name_.view());
		if (holder && !exchange(life_asked_, true))
			holder->ask_for_life();
		else if (holder && time_after(jiffies, info_at_ + kAnswerSeconds * HZ))
			taken = !holder->silent();
		if (holder && !taken && time_after(jiffies, info_at_ + kSilenceSeconds * HZ) &&
		    holder->comes_from(ends_.client) && holder->yields_to(session_->key())) {
			log_info_limited(name(), "an older session %s of this host is dead",
					 holder->name());
			holder->close_paths();
		}
	}
	if (taken || time_after(jiffies, info_at_ + kNameTimeoutSeconds * HZ)) {
		refuse(Refusal::NameTaken, "the session name is in use");
		return s;
	}
	return err::eagain;
}

// Posts a chain of the handshake, waiting for room as long as it takes or until the path closes.
template <class Post> Status Path::post_setup(Post &&post)
{
	for (;;) {
		const u32 seen = smp_load_acquire(&setup_completions_);
		const Status s = post();
		if (s.ok() || !(s.error() == err::eagain))
			return s;
		setup_wait_.wait(
		    [&] { return smp_load_acquire(&setup_completions_) != seen || closing(); });
		if (closing())
			return err::econnaborted;
	}
}

void Path::on_setup_sent()
{
	__atomic_fetch_add(&setup_completions_, 1, __ATOMIC_RELEASE);
	setup_wait_.wake_all();
}

// All regions under their first keys, on the service connection: the device carries out what
// follows in its queue, INFO_RSP, behind them.
Status Path::register_all(ServerConnection &service)
{
	ib_reg_wr wrs[kRegisterChain];
	const u32 count = regions_.count();
	for (u32 done = 0; done < count;) {
		const u32 n = min_of(kRegisterChain, count - done);
		for (u32 i = 0; i < n; i++)
			regions_.region(done + i).fill_reg_wr(wrs[i], service.setup_cqe(),
							      PathRegions::access(),
							      i + 1 < n ? &wrs[i + 1].wr : nullptr);
		TRY(post_setup([&] {
			return service.post_send(&wrs[0].wr, &wrs[n - 1].wr,
						 {.work_requests = n, .registrations = n});
		}));
		done += n;
	}
	return {};
}

Status Path::send_info_response()
{
	ServerConnection &service = *connections_[0];
	const u32 count = regions_.count();
	const InfoResponse header = make_info_response(count);
	__builtin_memcpy(info_response_.data(), &header, sizeof(header));
	for (u32 i = 0; i < count; i++) {
		const Descriptor d = Descriptor::from(regions_.remote(i));
		__builtin_memcpy(info_response_.data() + info_response_size(i), &d, sizeof(d));
	}
	if (exchange_)
		TRY(add_proof(info_response_size(count)));
	info_response_.sync_for_device(0, info_response_.size());

	ib_sge sge{};
	sge.addr = info_response_.dma_addr();
	sge.length = static_cast<u32>(info_response_.size());
	sge.lkey = device_.pd()->local_dma_lkey;
	ib_send_wr wr{};
	wr.opcode = IB_WR_SEND;
	wr.wr_cqe = service.setup_cqe();
	wr.sg_list = &sge;
	wr.num_sge = 1;
	return post_setup(
	    [&] { return service.post_send(&wr, &wr, {.work_requests = 1}, Signal::Always); });
}

} // namespace rtrs::server
