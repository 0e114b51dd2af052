// SPDX-License-Identifier: GPL-2.0
// Receives of I/O connections, from the completion to the slot and, in the same function, to the
// user (protocol A.5, J.2).
#include <cxxrt/rcu.hh>
#include <rtrs/server/arrival.hh>
#include <rtrs/server/connection.hh>

using namespace cxxrt;

namespace rtrs::server {

[[gnu::always_inline]] inline Status ServerConnection::post_again(CapsuleReceives::Entry *entry)
{
	return entry ? CapsuleReceives::post(qp, *entry) : post_empty_recv(&recv_.cqe);
}

// The header is parsed when the request has its slot.
[[gnu::always_inline]] inline void ServerConnection::on_capsule(ByteView content, Rkey closed)
{
	RequestCapsuleFields fields{Immediate::from_value(0), {}, {}};
	if (!parse_request_capsule(content, fields).ok()) [[unlikely]] {
		path_.refuse(Refusal::CapsuleMalformed, "malformed capsule");
		return;
	}
	[[gnu::uninitialized]] ServerImm imm;
	const Status s = settings().layout.decode_at_server(fields.imm, {cid()}, false, imm);
	if (!s.ok() || imm.kind != ServerImm::Kind::Request) [[unlikely]] {
		path_.refuse(Refusal::CapsuleMalformed, "a capsule that is no request");
		return;
	}
	if (!path_.enter())
		return;
	const RequestSlot::Arrival arrival{
	    .path = &path_,
	    .con = this,
	    .offset = imm.offset,
	    .message_size = static_cast<u8>(fields.message.size()),
	    .capsule_size = static_cast<u8>(fields.message.size() + fields.header.size()),
	    .closed = closed,
	};
	path_.session().slot(imm.slot).arrive(path_, arrival, fields.message.data());
}

[[gnu::always_inline]] inline void ServerConnection::on_immediate(const ib_wc &wc)
{
	[[gnu::uninitialized]] ServerImm imm;
	if (!settings()
		 .layout
		 .decode_at_server(Immediate::from_network(wc.ex.imm_data), {cid()}, path_.fences(),
				   imm)
		 .ok()) [[unlikely]] {
		path_.refuse(Refusal::ImmediateMalformed, "malformed immediate");
		return;
	}
	if (imm.kind != ServerImm::Kind::Request) [[unlikely]]
		on_service(imm);
	else if (path_.enter()) [[likely]]
		path_.session().slot(imm.slot).arrive(
		    path_, {.path = &path_, .con = this, .offset = imm.offset});
}

// With what it calls, up to the user, one function.
[[gnu::always_inline]] inline void ServerConnection::on_receive(const ib_wc &wc,
								CapsuleReceives::Entry *entry)
{
	if (wc.status != IB_WC_SUCCESS) [[unlikely]] {
		path_.fail(wc);
		return;
	}
	count_received();
	const bool is_capsule =
	    entry && wc.opcode == IB_WC_RECV && (wc.wc_flags & IB_WC_WITH_INVALIDATE);
	// Other sends, with invalidation of one of our keys or without, have no place here.
	if (!is_capsule && wc.opcode != IB_WC_RECV_RDMA_WITH_IMM) [[unlikely]] {
		path_.refuse(Refusal::UnexpectedMessage, "a message that is no RDMA write");
		return;
	}
	[[gnu::uninitialized]] u8 copy[kMaxCapsule]; // `size` bytes are looked at
	const u32 size = is_capsule ? CapsuleReceives::copy(*entry, wc.byte_len, copy) : 0;
	{
		RcuReader posting;
		if (!path_.may_post()) [[unlikely]] {
			// No client knows where to write before it has INFO_RSP.
			path_.refuse(Refusal::UnexpectedMessage, "a request before INFO_RSP");
			return;
		}
		// Before the message is parsed: the client may answer what follows from it at once.
		if (!post_again(entry).ok()) [[unlikely]] {
			path_.refuse(Refusal::CompletionError, "a receive could not be posted");
			return;
		}
	}
	path_.heartbeat().on_traffic();
	if (is_capsule)
		on_capsule({copy, size}, Rkey{wc.ex.invalidate_rkey});
	else
		on_immediate(wc);
}

void ServerConnection::received(ib_cq *, ib_wc *wc)
{
	of(wc).on_receive(*wc, nullptr);
}

void ServerConnection::capsule_received(ib_cq *, ib_wc *wc)
{
	CapsuleReceives::Entry &entry = CapsuleReceives::of(wc);
	entry.con->on_receive(*wc, &entry);
}

} // namespace rtrs::server
