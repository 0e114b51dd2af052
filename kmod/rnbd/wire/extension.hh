// SPDX-License-Identifier: GPL-2.0
// What two peers of this project tell each other beyond the common protocol (protocol D.5). Pure.
//
// A client offers the extensions in bytes of SESS_INFO that older servers ignore, and uses those
// that the answer confirms. Older senders leave any content in these bytes: the magic keeps that
// of a client apart, and the nonce, which is new in each question, that of a server, whose memory
// may hold an earlier answer. Without a confirmation none of the messages below is ever sent.
#pragma once

#include <rnbd/wire/messages.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

namespace feature {
constexpr u32 device_states = 1u << 0;
constexpr u32 identify = 1u << 1;
constexpr u32 all = device_states | identify;
} // namespace feature

// At byte kExtensionOffset of SESS_INFO and of its answer.
struct SessionExtension {
	u8 magic[8];
	Le64 nonce;
	Le64 instance; // 0 in the question
	Le32 features; // offered; confirmed
};
constexpr usize kExtensionOffset = 8;
static_assert(sizeof(SessionExtension) == 28);
static_assert(__builtin_offsetof(SessionExtension, nonce) == 8);
static_assert(__builtin_offsetof(SessionExtension, instance) == 16);
static_assert(__builtin_offsetof(SessionExtension, features) == 24);
static_assert(kExtensionOffset + sizeof(SessionExtension) == sizeof(SessionInfo));

constexpr u8 kExtensionMagic[8] = {'r', 'n', 'b', 'd', '+', 'e', 'x', 't'};

// What a session agreed on.
struct Extension {
	u32 features = 0;
	// Of the server: another one after each start of it, and never 0; 0 is unknown.
	u64 instance = 0;

	constexpr bool has(u32 f) const { return (features & f) == f; }
};

namespace detail {
// EBADMSG without the magic.
inline Result<SessionExtension> read_extension(ByteView session_info)
{
	Result<SessionExtension> e = session_info.read<SessionExtension>(kExtensionOffset);
	if (!e.ok())
		return e.error();
	for (usize i = 0; i < sizeof(kExtensionMagic); i++)
		if (e->magic[i] != kExtensionMagic[i])
			return err::ebadmsg;
	return e.take();
}

inline void write_extension(SessionInfo &m, u64 nonce, const Extension &content)
{
	SessionExtension e{};
	for (usize i = 0; i < sizeof(kExtensionMagic); i++)
		e.magic[i] = kExtensionMagic[i];
	e.nonce = nonce;
	e.instance = content.instance;
	e.features = content.features;
	__builtin_memcpy(reinterpret_cast<u8 *>(&m) + kExtensionOffset, &e, sizeof(e));
}
} // namespace detail

// Client side: the question, with a nonce that nobody can guess.
inline SessionInfo make_extended_session_info(u64 nonce)
{
	SessionInfo m = make_session_info();
	detail::write_extension(m, nonce, {.features = feature::all});
	return m;
}

// Server side: adds to the answer what the question asks for, if it does. The features agreed on.
inline u32 answer_extension(ByteView question, u64 instance, SessionInfo &answer)
{
	Result<SessionExtension> asked = detail::read_extension(question);
	if (!asked.ok())
		return 0;
	const u32 features = asked->features.get() & feature::all;
	detail::write_extension(answer, asked->nonce.get(),
				{.features = features, .instance = instance});
	return features;
}

// Client side: what the answer confirms; nothing if it is that of an older server.
inline Extension parse_extension_response(ByteView answer, u64 nonce)
{
	Result<SessionExtension> e = detail::read_extension(answer);
	if (!e.ok() || e->nonce.get() != nonce)
		return {};
	return {.features = e->features.get() & feature::all, .instance = e->instance.get()};
}

// ---- DEVICE_STATES: what became of the devices of the session

// A read. The answer tells of the devices with the lowest ids from `first` on.
struct DeviceStates {
	MessageHeader header;
	Le32 first;
};
static_assert(sizeof(DeviceStates) == 8);

struct DeviceStatesResponse {
	MessageHeader header;
	Le32 count; // entries behind this structure
	Le32 next;  // what to ask for next: all ids below it were told; kNoMoreDevices at the end
	Le32 reserved;
};
static_assert(sizeof(DeviceStatesResponse) == 16);

struct DeviceStateEntry {
	Le32 device_id;
	Le32 flags;
	Le64 nsectors;

	enum : u32 { kReadOnly = 1u << 0 }; // the device itself, whatever the mapping is
};
static_assert(sizeof(DeviceStateEntry) == 16);

constexpr u32 kNoMoreDevices = 0xffffffff;
constexpr usize kMaxDeviceStatesSize = 4096;
constexpr usize kMaxStateEntries =
    (kMaxDeviceStatesSize - sizeof(DeviceStatesResponse)) / sizeof(DeviceStateEntry);

constexpr DeviceStates make_device_states(u32 first)
{
	return {MessageHeader::of(MessageType::DeviceStates), first};
}

// Server side: the first id to tell of. EMSGSIZE, EINVAL for another type or a write.
inline Result<u32> parse_device_states(ByteView message, Transfer transfer)
{
	Result<DeviceStates> m = message.read<DeviceStates>();
	if (!m.ok())
		return m.error();
	if (!m->header.is(MessageType::DeviceStates) || !transfer.is_read())
		return err::einval;
	if (transfer.size < kMaxDeviceStatesSize)
		return err::emsgsize;
	return m->first.get();
}

struct DeviceCondition {
	DeviceId device;
	Sectors capacity;
	bool read_only;
};

constexpr DeviceStatesResponse make_device_states_response(u32 count, u32 next)
{
	return {MessageHeader::of(MessageType::DeviceStatesResponse), count, next, 0};
}

constexpr DeviceStateEntry make_device_state(const DeviceCondition &c)
{
	return {c.device.value, c.read_only ? DeviceStateEntry::kReadOnly : 0u, c.capacity.value};
}

// Client side: an answer whose entries can be read.
class DeviceStatesView {
public:
	// EMSGSIZE, EINVAL for another type, more entries than the answer holds, ids that do not
	// rise from `first`, or a `next` that leads back.
	static Result<DeviceStatesView> parse(ByteView answer, u32 first)
	{
		Result<DeviceStatesResponse> m = answer.read<DeviceStatesResponse>();
		if (!m.ok())
			return m.error();
		const u32 count = m->count.get();
		if (!m->header.is(MessageType::DeviceStatesResponse) || count > kMaxStateEntries ||
		    m->next.get() <= first)
			return err::einval;
		Result<ByteView> entries =
		    answer.slice(sizeof(DeviceStatesResponse), count * sizeof(DeviceStateEntry));
		if (!entries.ok())
			return entries.error();
		DeviceStatesView view(entries.value(), count, m->next.get());
		u32 lowest = first;
		for (u32 i = 0; i < count; i++) {
			const u32 id = view[i].device.value;
			if (id < lowest || id >= view.next())
				return err::einval;
			lowest = id + 1;
		}
		return view;
	}

	u32 count() const { return count_; }
	u32 next() const { return next_; }
	DeviceCondition operator[](u32 i) const
	{
		Result<DeviceStateEntry> e =
		    entries_.read<DeviceStateEntry>(i * sizeof(DeviceStateEntry));
		if (!e.ok())
			return {};
		return {.device = {e->device_id.get()},
			.capacity = {e->nsectors.get()},
			.read_only = (e->flags.get() & DeviceStateEntry::kReadOnly) != 0};
	}
	// Null if the answer does not have it.
	Result<DeviceCondition> find(DeviceId id) const
	{
		for (u32 i = 0; i < count_; i++)
			if ((*this)[i].device == id)
				return (*this)[i];
		return err::enoent;
	}

private:
	DeviceStatesView(ByteView entries, u32 count, u32 next)
	    : entries_(entries), count_(count), next_(next)
	{
	}

	ByteView entries_;
	u32 count_;
	u32 next_;
};

// ---- IDENTIFY: which device it is, whatever its name

struct Identify {
	MessageHeader header;
	Le32 device_id;
};
static_assert(sizeof(Identify) == 8);

constexpr u32 kWwidSize = 120; // with terminator

struct IdentifyResponse {
	MessageHeader header;
	Le32 reserved;
	char wwid[kWwidSize];
};
static_assert(sizeof(IdentifyResponse) == 128);
static_assert(__builtin_offsetof(IdentifyResponse, wwid) == 8);

// The name of a device that is the same on each path to it, and the same tomorrow; visible ASCII
// characters without slashes and quotes, as udev makes names of it. Empty if there is none.
class Wwid {
public:
	constexpr Wwid() = default;
	// What may not be in it becomes an underscore; what is too long is cut off.
	static constexpr Wwid from(TextView t)
	{
		Wwid w;
		for (usize i = 0; i < t.size() && i < kWwidSize - 1; i++)
			w.text_[i] = allowed(t[i]) ? t[i] : '_';
		return w;
	}
	static constexpr bool allowed(char c)
	{
		return c > ' ' && c < 0x7f && c != '/' && c != '\\' && c != '"' && c != '\'';
	}

	constexpr const char *c_str() const { return text_; }
	constexpr TextView view() const { return TextView::of(text_); }
	constexpr bool empty() const { return !text_[0]; }
	constexpr bool operator==(const Wwid &o) const { return view() == o.view(); }

private:
	char text_[kWwidSize] = {};
};

constexpr Identify make_identify(DeviceId id)
{
	return {MessageHeader::of(MessageType::Identify), id.value};
}

// Server side. EMSGSIZE, EINVAL for another type or a write.
inline Result<DeviceId> parse_identify(ByteView message, Transfer transfer)
{
	Result<Identify> m = message.read<Identify>();
	if (!m.ok())
		return m.error();
	if (!m->header.is(MessageType::Identify) || !transfer.is_read())
		return err::einval;
	if (transfer.size < sizeof(IdentifyResponse))
		return err::emsgsize;
	return DeviceId{m->device_id.get()};
}

inline IdentifyResponse make_identify_response(const Wwid &wwid)
{
	IdentifyResponse m{};
	m.header = MessageHeader::of(MessageType::IdentifyResponse);
	const TextView text = wwid.view();
	for (usize i = 0; i < text.size(); i++)
		m.wwid[i] = text[i];
	return m;
}

// Client side. EMSGSIZE, EINVAL for another type, or a text without end or with characters that a
// Wwid does not have.
inline Result<Wwid> parse_identify_response(ByteView answer)
{
	Result<IdentifyResponse> m = answer.read<IdentifyResponse>();
	if (!m.ok())
		return m.error();
	if (!m->header.is(MessageType::IdentifyResponse))
		return err::einval;
	const TextView field(m->wwid, kWwidSize);
	const TextView text = field.first(field.find('\0'));
	if (text.size() == field.size())
		return err::einval;
	for (usize i = 0; i < text.size(); i++)
		if (!Wwid::allowed(text[i]))
			return err::einval;
	return Wwid::from(text);
}

} // namespace rnbd
