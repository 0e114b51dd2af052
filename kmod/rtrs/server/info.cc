// SPDX-License-Identifier: GPL-2.0
// The INFO exchange, by which a path becomes CONNECTED (protocol A.4, A.8, B.2).
//
// INFO_REQ is parsed where it arrives; the rest runs on the control queue, because it makes sysfs
// entries, calls the user and waits for others.
#include <cxxrt/log.hh>
#include <rtrs/server/module.hh>
#include <rtrs/server/session.hh>

using namespace cxxrt;

namespace rtrs::server {
namespace {

// How long a new path waits for an old one to leave its name: the old one is closing already.
constexpr unsigned kNameTimeoutSeconds = 10;
// When the answer to a heartbeat is looked for, and when its lack is proof.
constexpr unsigned kAnswerSeconds = 1;
constexpr unsigned kSilenceSeconds = 4;

// Registrations in one chain; bounds the stack.
constexpr u32 kRegisterChain = 8;
static_assert(kRegisterChain <= ServerConnection::max_service_chain());

} // namespace

void Path::on_info_request(const SessionName &name)
{
	wanted_name_.assign(name.view());
	info_.queue(module_->control);
}

void Path::run_info()
{
	if (predecessor_)
		// If it takes longer, the directory exists and this path closes.
		(void)predecessor_->hidden_.wait_for(kNameTimeoutSeconds * HZ);
	if (const Status s = become_connected(); !s.ok()) {
		if (!closing())
			log_error_limited(name(), "handshake failed, error %d", s.code());
		close();
	}
}

Status Path::become_connected()
{
	if (state() != ServerPathState::Connecting)
		return err::econnaborted;
	if (!session_->is_complete(*this)) {
		refuse(Refusal::InfoMalformed, "INFO_REQ before all connections are there");
		return err::eproto;
	}
	TRY(claim_name());
	TRY(outwait_old_requests());
	// Before anything tells the client that it may send.
	for (auto &con : connections_)
		TRY(con->post_recvs());
	TRY(session_->bring_up(*this, wanted_name_.view()));
	if (!move(ServerPathState::Connected))
		return err::econnaborted;
	session_->server().admission().handshake_over(admitted_);
	TRY(send_info_response());
	heartbeat_.start(connections_[0].get(), module_->io);
	log_info(name(), "connected, session %s", session_->name());
	return {};
}

// A name belongs to one session at a time (protocol G.1-30), and all paths of a session use the
// same. A client that comes under a new session id while its old session still has the name has
// either closed that one, whose paths are about to go, or was started anew after a crash. Then the
// old one does not know yet (protocol G.3-12): it is asked for a sign of life. If it gives one, the
// name is taken; if not, and both are of one host, where two clients of one name cannot live side
// by side, the old session is dead.
Status Path::claim_name()
{
	Server &server = session_->server();
	const unsigned long begin = jiffies;
	bool asked = false;
	for (;;) {
		const Status s = server.claim_name(*session_, wanted_name_.view());
		if (s.ok())
			return {};
		bool taken = s.error() == err::einval;
		if (s.error() == err::eexist) {
			const Ref<Session> holder = server.find_by_name(wanted_name_.view());
			if (holder && !exchange(asked, true))
				holder->ask_for_life();
			else if (holder && time_after(jiffies, begin + kAnswerSeconds * HZ))
				taken = !holder->silent();
			if (holder && !taken && time_after(jiffies, begin + kSilenceSeconds * HZ) &&
			    holder->comes_from(ends_.client)) {
				log_info_limited(name(), "an older session %s of this host is dead",
						 holder->name());
				holder->close_paths();
			}
		}
		if (taken || time_after(jiffies, begin + kNameTimeoutSeconds * HZ)) {
			refuse(Refusal::NameTaken, "the session name is in use");
			return s.error();
		}
		server.wait_for_name(HZ / 10);
		if (closing())
			return err::econnaborted;
	}
}

bool Path::all_accepted() const
{
	for (const auto &con : connections_)
		if (!con || !con->accepted())
			return false;
	return true;
}

// Posts a chain of the handshake, waiting for room as long as it takes or until the path closes.
template <class Post> Status Path::post_setup(Post &&post)
{
	for (;;) {
		const u32 seen = READ_ONCE(setup_completions_);
		const Status s = post();
		if (s.ok() || !(s.error() == err::eagain))
			return s;
		setup_wait_.wait(
		    [&] { return READ_ONCE(setup_completions_) != seen || closing(); });
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
	TRY(register_all(service));

	const u32 count = regions_.count();
	const InfoResponse header = make_info_response(count);
	__builtin_memcpy(info_response_.data(), &header, sizeof(header));
	for (u32 i = 0; i < count; i++) {
		const Descriptor d = Descriptor::from(regions_.remote(i));
		__builtin_memcpy(info_response_.data() + info_response_size(i), &d, sizeof(d));
	}
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
