// SPDX-License-Identifier: GPL-2.0
// Messages that are no block requests: SESS_INFO, OPEN and CLOSE over permits (protocol D).
//
// Every exchange sleeps, until the answer, a fatal signal (EINTR), the end of its path, of the link
// or the session. It goes over one path and ends with that: what may be sent again, and what the
// server may have done all the same, is the sender's matter. A message that is not answered in time
// ends its path.
//
// The messages of one session can be in flight together, as many as it has permits, and not all of
// one kind: OPEN does not keep CLOSE out, nor both the small questions that are answered at once.
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

// What a message may wait for at the server, and so which permits it may take.
enum class MessageKind : u8 {
	Open,	// for a device that opens
	Slow,	// for the end of requests, or a flush
	Prompt, // for nothing
};

// No server of this project takes so long for any answer.
constexpr unsigned int kAnswerMs = 60'000;

struct MessageWay {
	const u32 *epoch = nullptr; // send it in that epoch only
	// The path that has the message starts again after it, in jiffies.
	unsigned long timeout = msecs_to_jiffies(kAnswerMs);
	MessageKind kind = MessageKind::Prompt;
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
	MessageKind kind() const { return kind_; }
	u32 slot() const { return slot_; }

private:
	static void done(void *priv, int status, io_comp_batch *, u64);
	friend class MessageReserve;
	Status begin(const Content &content, MessageKind kind);
	Status send(const Content &content, const u32 *epoch);

	Session &session_;
	void *answer_ = nullptr; // from kmalloc, since the device writes it
	usize room_ = 0;
	usize answer_size_ = 0;
	scatterlist list_;
	u32 slot_ = 0;
	u32 epoch_ = 0;
	int status_ = 0;
	MessageKind kind_ = MessageKind::Prompt;
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
	OpenNumber number;   // of its OPEN; 0 if the server knows none
};

// An OPEN that may have opened something at the server without its sender knowing it: the question
// or the answer was lost with its path, or it goes on (protocol D.5, "Numbers of OPEN").
struct AskedOpen {
	bool under_way = false; // the rest is valid
	u32 epoch = 0;
	AccessMode mode{};
	OpenNumber number{}; // 0: the server knows none
};

// In that epoch: ECONNRESET if it is over. An answer that makes no sense is EINVAL, and the device
// is closed again. EINPROGRESS: the server goes on with it, and is to be asked again. `asked` is
// the OPEN that goes on, if one does, and then says so or not; the mode and name are those of
// before.
Result<OpenedDevice> exchange_open(Session &session, u32 epoch, AccessMode mode,
				   const DeviceName &name, AskedOpen &asked,
				   MessageReserve &reserve);

// What such an OPEN has opened, or opens yet, is closed. Does not wait for the flush.
void exchange_settle(Session &session, AskedOpen &asked, const DeviceName &name,
		     MessageReserve *reserve);

// What is closed: by the number of its OPEN, or by its id where the server knows no numbers. Then
// mode and name are to ask for it again.
struct ClosedDevice {
	OpenNumber number;
	DeviceId id;
	AccessMode mode;
	const DeviceName &name;
};

// Waits for the confirmation, but not for ever: it changes nothing. Does nothing if the epoch is
// over, for then the server has closed the device by itself.
void exchange_close(Session &session, const ClosedDevice &device, u32 epoch,
		    MessageReserve *reserve = nullptr);

} // namespace rnbd::client
