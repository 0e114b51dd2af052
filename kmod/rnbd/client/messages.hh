// SPDX-License-Identifier: GPL-2.0
// Messages that are no block requests: SESS_INFO, OPEN and CLOSE over permits (protocol D).
//
// Every exchange sleeps, until the answer, a fatal signal (EINTR), or the end of the link or the
// session. The messages of one session can be in flight together, as many as it has permits.
#pragma once

#include <cxxrt/memory.hh>
#include <cxxrt/ref.hh>
#include <cxxrt/wait.hh>
#include <rnbd/wire/extension.hh>
#include <rnbd/wire/messages.hh>
#include <rnbd/wire/open_response.hh>
#include <rtrs/rtrs.h>

namespace rnbd::client {

class MessageReserve;
class Session;
using cxxrt::Ref;

struct MessageWay {
	const u32 *epoch = nullptr; // send it in that epoch only
	unsigned long timeout = MAX_SCHEDULE_TIMEOUT;
	MessageReserve *reserve = nullptr; // what it is made of; null: of new memory
};

// One message and room for its answer. Two references: that of the sender, who may give up
// waiting, and that of the transport, until done().
class Message : public cxxrt::RefCounted<Message> {
public:
	struct Content {
		const void *message;
		usize size;
		usize answer_size; // 0: none, and the message is a write for the transport
	};

	// Sends and waits; the answer is valid as long as the reference. EINTR, ECONNRESET when
	// `epoch` is given and over, ETIMEDOUT, the server's error or what became of the path.
	static Result<Ref<Message>> exchange(Session &session, const Content &content,
					     const MessageWay &way = {});
	// With room for an answer of so many bytes. ENOMEM.
	static Result<Ref<Message>> create(Session &session, usize room);
	explicit Message(Session &session) : session_(session) {}
	~Message() { kfree(answer_); } // raw: from create()

	// Zeroes where the server sent less.
	ByteView answer() const { return ByteView(answer_, answer_size_); }
	// The epoch of the link that it was sent in.
	u32 epoch() const { return epoch_; }

	// For Session::send() and sent().
	void prepare(u32 slot, u32 epoch)
	{
		slot_ = slot;
		epoch_ = epoch;
	}
	u32 slot() const { return slot_; }

private:
	static void done(void *priv, int status, io_comp_batch *, u64);
	friend class MessageReserve;
	Status begin(const Content &content);
	Status send(const Content &content, const u32 *epoch);

	Session &session_;
	void *answer_ = nullptr; // from kmalloc, since the device writes it
	usize room_ = 0;
	usize answer_size_ = 0;
	scatterlist list_;
	u32 slot_ = 0;
	u32 epoch_ = 0;
	int status_ = 0;
	cxxrt::Completion ended_;
};

// The memory of one message, set aside by who brings disks back: when all memory is full of what
// waits to be written to them, none can be had. One task uses it, for one message after the other;
// a Ref that it has of one is gone when it asks for the next.
class MessageReserve {
public:
	// For answers up to `room` bytes. ENOMEM.
	Status create(Session &session, usize room);

private:
	friend class Message;
	// Empty while the transport still has the message before, which was given up: then new
	// memory has to do. Sleeps for a moment.
	Ref<Message> take();

	Ref<Message> message_;
};

// Answers to all but DEVICE_STATES.
constexpr usize kReservedAnswer = 256;

// The version to speak, and what else is agreed on, in that epoch.
struct Agreement {
	u8 version;
	Extension extension;
	u32 epoch;
};
Result<Agreement> exchange_session_info(Session &session, MessageReserve &reserve);

// What the server opened, and the epoch in which its id is valid.
struct OpenedDevice {
	DeviceProperties properties;
	DeviceTopology topology;
	u32 epoch;
	Extension extension; // of that epoch
	Identity identity;   // valid with feature::identify
};

// In that epoch: ECONNRESET if it is over. An answer that makes no sense is EINVAL, and the device
// is closed again.
Result<OpenedDevice> exchange_open(Session &session, u32 epoch, AccessMode mode,
				   const DeviceName &name, MessageReserve &reserve);

// Waits for the confirmation, but not for ever: it changes nothing. Does nothing if the epoch is
// over, for then the server has closed the device by itself.
void exchange_close(Session &session, DeviceId id, u32 epoch, MessageReserve *reserve = nullptr);

} // namespace rnbd::client
