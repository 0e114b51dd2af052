// SPDX-License-Identifier: GPL-2.0
// That no request of a dead path is executed after newer ones (protocol J.1, G.3-5).
//
// A client that has lost a path sends its requests again on another one, or tells its user that
// they failed, who then writes anew. The first copies may still be on their way: in the network,
// for as long as our queue pairs take what comes, and behind it in the disk. So
//
//   * before a client sends requests again, it has the dead path fenced: we close it, and say so
//     when it is quiet. First copies that had begun by then own their slots, and the second copies
//     wait for them (slot.cc);
//   * before a path becomes CONNECTED, the requests of all paths that are closing have ended. That
//     is for requests whose second copy never comes, because there was no path to send it on.
#include <rtrs/server/module.hh>
#include <rtrs/server/path.hh>
#include <rtrs/server/session.hh>

using namespace cxxrt;

namespace rtrs::server {

// A client waits for the end of one fence before it begins another one.
void Path::on_fence(u32 serial)
{
	u32 none = 0;
	if (!serial || !__atomic_compare_exchange_n(&fence_serial_, &none, serial, false,
						    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		refuse(Refusal::UnexpectedMessage, "a fence for nothing, or during another one");
		return;
	}
	fence_.queue(module_->control);
}

void Path::run_fence()
{
	const u32 serial = __atomic_load_n(&fence_serial_, __ATOMIC_ACQUIRE);
	// Ends: the other path closes by a work of its own, which waits for us only if we close.
	if (const Ref<Path> dead = session_->close_by_serial(serial, *this))
		session_->progress().wait([&] { return dead->quiet() || closing(); });
	// The client may begin another fence as soon as it has the answer.
	__atomic_store_n(&fence_serial_, 0u, __ATOMIC_RELEASE);

	Status s;
	do {
		s = post_fence_done(serial);
		// Full: a send completes soon.
	} while (!s.ok() && s.error() == err::eagain &&
		 !setup_wait_.wait_for(HZ / 50, [this] { return closing(); }).ok());
	if (!s.ok())
		refuse(Refusal::CompletionError, "the end of a fence could not be posted");
}

Status Path::post_fence_done(u32 serial)
{
	ServerConnection &service = *connections_[0];
	ib_rdma_wr done{};
	done.wr.opcode = IB_WR_RDMA_WRITE_WITH_IMM;
	done.wr.wr_cqe = service.send_cqe();
	done.wr.ex.imm_data = Immediate(ImmType::FenceDone, serial).to_network();
	RcuReader posting;
	if (!may_post())
		return err::econnaborted;
	return service.post_send(&done.wr, &done.wr, {.work_requests = 1});
}

// ECONNABORTED when this path closes meanwhile, which the handshake's timer sees to.
Status Path::outwait_old_requests()
{
	while (const Ref<Path> old = session_->find_unended(*this)) {
		session_->progress().wait([&] { return old->ended() || closing(); });
		if (closing())
			return err::econnaborted;
	}
	return {};
}

} // namespace rtrs::server
