// SPDX-License-Identifier: GPL-2.0
// DEVICE_STATES: what became of the devices of the session (protocol D.5). Pure.
#pragma once

#include <rnbd/wire/messages.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

// A read. The answer tells of the devices with the lowest ids from `first` on.
struct DeviceStates {
	MessageHeader header;
	Le32 first;
	// The serial of the last answer that the client has acted upon, all its entries; 0: of
	// none. Only with feature::device_cache: others end before it.
	Le32 followed;
};
constexpr usize kDeviceStatesSizeV1 = 8;
static_assert(sizeof(DeviceStates) == 12);
static_assert(__builtin_offsetof(DeviceStates, followed) == kDeviceStatesSizeV1);

struct DeviceStatesResponse {
	MessageHeader header;
	Le32 count;  // entries behind this structure
	Le32 next;   // what to ask for next: all ids below it were told; kNoMoreDevices at the end
	Le32 serial; // of the answer, another one each time it is given; 0 without device_cache
};
static_assert(sizeof(DeviceStatesResponse) == 16);
static_assert(__builtin_offsetof(DeviceStatesResponse, serial) == 12);

struct DeviceStateEntry {
	Le32 device_id;
	Le32 flags;
	Le64 nsectors;

	enum : u32 { kReadOnly = 1u << 0 }; // the device itself, whatever the mapping is
	// With feature::device_cache, as in the answer to OPEN.
	enum : u32 { kWriteback = 1u << 1 };
	enum : u32 { kFua = 1u << 2 };
};
static_assert(sizeof(DeviceStateEntry) == 16);

constexpr u32 kNoMoreDevices = 0xffffffff;
constexpr usize kMaxDeviceStatesSize = 4096;
constexpr usize kMaxStateEntries =
    (kMaxDeviceStatesSize - sizeof(DeviceStatesResponse)) / sizeof(DeviceStateEntry);

constexpr DeviceStates make_device_states(u32 first, u32 followed)
{
	return {MessageHeader::of(MessageType::DeviceStates), first, followed};
}

struct DeviceStatesQuestion {
	u32 first;
	u32 followed; // 0 in the shorter form
};

// Server side. EMSGSIZE, EINVAL for another type or a write.
inline Result<DeviceStatesQuestion> parse_device_states(ByteView message, Transfer transfer)
{
	Result<MessageHeader> header = message.read<MessageHeader>();
	if (!header.ok())
		return header.error();
	if (!header->is(MessageType::DeviceStates) || !transfer.is_read())
		return err::einval;
	Result<Le32> first = message.read<Le32>(__builtin_offsetof(DeviceStates, first));
	if (!first.ok())
		return first.error();
	if (transfer.size < kMaxDeviceStatesSize)
		return err::emsgsize;
	Result<Le32> followed = message.read<Le32>(__builtin_offsetof(DeviceStates, followed));
	return DeviceStatesQuestion{.first = first->get(),
				    .followed = followed.ok() ? followed->get() : 0};
}

struct DeviceCondition {
	DeviceId device;
	Sectors capacity;
	bool read_only;
	// Both mean something only with feature::device_cache.
	bool writeback;
	bool fua;
};

constexpr DeviceStatesResponse make_device_states_response(u32 count, u32 next, u32 serial)
{
	return {MessageHeader::of(MessageType::DeviceStatesResponse), count, next, serial};
}

constexpr DeviceStateEntry make_device_state(const DeviceCondition &c)
{
	const u32 flags = (c.read_only ? DeviceStateEntry::kReadOnly : 0u) |
			  (c.writeback ? DeviceStateEntry::kWriteback : 0u) |
			  (c.fua ? DeviceStateEntry::kFua : 0u);
	return {c.device.value, flags, c.capacity.value};
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
		DeviceStatesView view(entries.value(), *m);
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
	// For the `followed` of the next question, once everything in here was acted upon.
	u32 serial() const { return serial_; }
	DeviceCondition operator[](u32 i) const
	{
		Result<DeviceStateEntry> e =
		    entries_.read<DeviceStateEntry>(i * sizeof(DeviceStateEntry));
		if (!e.ok())
			return {};
		const u32 flags = e->flags.get();
		const bool writeback = (flags & DeviceStateEntry::kWriteback) != 0;
		// Without a cache every write is as good as FUA.
		return {.device = {e->device_id.get()},
			.capacity = {e->nsectors.get()},
			.read_only = (flags & DeviceStateEntry::kReadOnly) != 0,
			.writeback = writeback,
			.fua = writeback && (flags & DeviceStateEntry::kFua) != 0};
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
	DeviceStatesView(ByteView entries, const DeviceStatesResponse &m)
	    : entries_(entries), count_(m.count.get()), next_(m.next.get()), serial_(m.serial.get())
	{
	}

	ByteView entries_;
	u32 count_;
	u32 next_;
	u32 serial_;
};

} // namespace rnbd
