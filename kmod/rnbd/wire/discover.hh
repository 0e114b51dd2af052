// SPDX-License-Identifier: GPL-2.0
// DISCOVER: what the server has configured for this session (protocol D.5). Pure.
#pragma once

#include <rnbd/wire/messages.hh>
#include <rnbd/wire/open_response.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

// A read. The answer tells of the exports with the lowest numbers from `first` on.
struct DiscoverQuestion {
	MessageHeader header;
	Le32 first;
};
static_assert(sizeof(DiscoverQuestion) == 8);

struct DiscoverResponse {
	MessageHeader header;
	Le32 count; // entries behind this structure
	Le32
	    next; // what to ask for next: all numbers below it were told; kNoMoreExports at the end
	Le32 flags;

	// Names that are no exports can be opened, too: they are paths of block devices.
	enum : u32 { kPathsToo = 1u << 0 };
};
static_assert(sizeof(DiscoverResponse) == 16);

constexpr usize kExportNameSize = kDeviceNameSize + 1;

struct DiscoverEntry {
	Le32 number; // of the export; another one when it was made anew
	u8 access;   // the most that may be asked for
	u8 flags;
	u8 reserved[2];
	Le64 nsectors; // 0 with kNoDevice
	char name[kExportNameSize];

	enum : u8 { kNoDevice = 1u << 0 };	   // it is not there at present
	enum : u8 { kOpenHere = 1u << 1 };	   // a session of this name has it open
	enum : u8 { kOpenElsewhere = 1u << 2 };	   // another one has
	enum : u8 { kWrittenElsewhere = 1u << 3 }; // and not only to read
};
static_assert(sizeof(DiscoverEntry) == 272);
static_assert(__builtin_offsetof(DiscoverEntry, nsectors) == 8);
static_assert(__builtin_offsetof(DiscoverEntry, name) == 16);

constexpr u32 kNoMoreExports = 0xffffffff;
constexpr usize kMaxDiscoverSize = 4096;
constexpr usize kMaxDiscoverEntries =
    (kMaxDiscoverSize - sizeof(DiscoverResponse)) / sizeof(DiscoverEntry);

constexpr DiscoverQuestion make_discover(u32 first)
{
	return {MessageHeader::of(MessageType::Discover), first};
}

// Server side: the first number that is asked for. EMSGSIZE, EINVAL for another type or a write.
inline Result<u32> parse_discover(ByteView message, Transfer transfer)
{
	Result<DiscoverQuestion> m = message.read<DiscoverQuestion>();
	if (!m.ok())
		return m.error();
	if (!m->header.is(MessageType::Discover) || !transfer.is_read())
		return err::einval;
	if (transfer.size < kMaxDiscoverSize)
		return err::emsgsize;
	return m->first.get();
}

// Which sessions have the device of an export open: the one that asks, others, both or none.
struct ExportOpeners {
	bool here;
	bool elsewhere;
	bool written_elsewhere;
};

struct DiscoveredExport {
	u32 number;
	AccessMode access;
	bool no_device;
	ExportOpeners openers;
	Sectors capacity;
};

constexpr DiscoverResponse make_discover_response(u32 count, u32 next, bool paths_too)
{
	return {MessageHeader::of(MessageType::DiscoverResponse), count, next,
		paths_too ? DiscoverResponse::kPathsToo : 0u};
}

// `name` is that of a DeviceName.
constexpr DiscoverEntry make_discover_entry(const DiscoveredExport &e, TextView name)
{
	DiscoverEntry m{};
	m.number = e.number;
	m.access = static_cast<u8>(e.access);
	const struct {
		bool is;
		u8 flag;
	} flags[] = {{e.no_device, DiscoverEntry::kNoDevice},
		     {e.openers.here, DiscoverEntry::kOpenHere},
		     {e.openers.elsewhere, DiscoverEntry::kOpenElsewhere},
		     {e.openers.written_elsewhere, DiscoverEntry::kWrittenElsewhere}};
	for (const auto &f : flags)
		if (f.is)
			m.flags |= f.flag;
	m.nsectors = e.no_device ? 0 : e.capacity.value;
	for (usize i = 0; i < name.size() && i < kExportNameSize - 1; i++)
		m.name[i] = name[i];
	return m;
}

// Client side: an answer whose entries can be read.
class DiscoverView {
public:
	// EMSGSIZE, EINVAL for another type, more entries than the answer holds, numbers that do
	// not rise from `first`, a `next` that leads back, an access mode or a size that does not
	// exist, or a name that no device can be opened by.
	static Result<DiscoverView> parse(ByteView answer, u32 first)
	{
		Result<DiscoverResponse> m = answer.read<DiscoverResponse>();
		if (!m.ok())
			return m.error();
		const u32 count = m->count.get();
		if (!m->header.is(MessageType::DiscoverResponse) || count > kMaxDiscoverEntries ||
		    m->next.get() <= first)
			return err::einval;
		Result<ByteView> entries =
		    answer.slice(sizeof(DiscoverResponse), count * sizeof(DiscoverEntry));
		if (!entries.ok())
			return entries.error();
		DiscoverView view(entries.value(), *m);
		u32 lowest = first;
		for (u32 i = 0; i < count; i++) {
			const DiscoverEntry *e = view.entry(i);
			const u32 number = e->number.get();
			if (number < lowest || number >= view.next() ||
			    e->access > static_cast<u8>(AccessMode::Shared) ||
			    e->nsectors.get() > kMaxCapacitySectors || !view.name(i).ok())
				return err::einval;
			lowest = number + 1;
		}
		return view;
	}

	u32 count() const { return count_; }
	u32 next() const { return next_; }
	bool paths_too() const { return paths_too_; }
	DiscoveredExport operator[](u32 i) const
	{
		const DiscoverEntry *e = entry(i);
		auto is = [&](u8 flag) {
			return (e->flags & flag) != 0;
		};
		const bool elsewhere = is(DiscoverEntry::kOpenElsewhere);
		return {.number = e->number.get(),
			.access = static_cast<AccessMode>(e->access),
			.no_device = is(DiscoverEntry::kNoDevice),
			.openers = {.here = is(DiscoverEntry::kOpenHere),
				    .elsewhere = elsewhere,
				    .written_elsewhere =
					elsewhere && is(DiscoverEntry::kWrittenElsewhere)},
			.capacity = {e->nsectors.get()}};
	}
	Result<DeviceName> name(u32 i) const
	{
		const TextView field(entry(i)->name, kExportNameSize);
		return DeviceName::from(field.first(field.find('\0')));
	}

private:
	DiscoverView(ByteView entries, const DiscoverResponse &m)
	    : entries_(entries), count_(m.count.get()), next_(m.next.get()),
	      paths_too_((m.flags.get() & DiscoverResponse::kPathsToo) != 0)
	{
	}
	// All fields are bytes, of any alignment.
	const DiscoverEntry *entry(u32 i) const
	{
		return reinterpret_cast<const DiscoverEntry *>(entries_.data() +
							       i * sizeof(DiscoverEntry));
	}

	ByteView entries_;
	u32 count_;
	u32 next_;
	bool paths_too_;
};

} // namespace rnbd
