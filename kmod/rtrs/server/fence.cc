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
//   * requests whose second copy never comes, because there was no path to send it on, were sent
//     in a life of the session that has ended (session.hh). A path of the next life becomes
//     CONNECTED under the session's name, which the old life gives back when all of its paths are
//     quiet and the user has taken it down: what had not begun by then never will. What had, the
//     user orders, as the devices are opened anew;
//   * of a client that does not know fences, the requests of all paths that are closing have ended
//     before a path becomes CONNECTED.
//
// While a path becomes quiet, the session's other paths work on: their requests were sent by a
// client that had no answer to those of the dead path, so they are in no order to them; or they are
// second copies, and then the path is quiet.
#include <rtrs/server/module.hh>
#include <rtrs/server/path.hh>
#include <rtrs/server/session.hh>

using namespace cxxrt;

namespace rtrs::server {
namespace {

// When room for an answer is looked for again: a send completes soon.
constexpr unsigned long kRoomDelay = HZ / 50;

} // namespace

// A client waits for the end of one fence before it begins another one.
void Path::on_fence(u32 serial)
{
	u32 none = 0;
	if (!serial || !__atomic_compare_exchange_n(&fence_serial_, &none, serial, false,
						    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		refuse(Refusal::UnexpectedMessage, "a fence for nothing, or during another one");
		return;
	}
	fence_.requeue_after(module_->control, 0);
}

// Until the other path is quiet, nothing: then it has us look again.
void Path::run_fence()
{
	const u32 serial = __atomic_load_n(&fence_serial_, __ATOMIC_ACQUIRE);
	if (!serial || !session_->end_by_serial(serial, *this))
		return;
	// The client may begin another fence as soon as it has the answer.
	__atomic_store_n(&fence_serial_, 0u, __ATOMIC_RELEASE);
	const Status s = post_fence_done(serial);
	if (s.ok() || closing())
		return;
	u32 none = 0;
	if (s.error() == err::eagain &&
	    __atomic_compare_exchange_n(&fence_serial_, &none, serial, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED)) {
		fence_.queue_after(module_->control, kRoomDelay);
		return;
	}
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

} // namespace rtrs::server
