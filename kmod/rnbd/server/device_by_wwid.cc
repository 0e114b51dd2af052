// SPDX-License-Identifier: GPL-2.0
// Search for a device by its identity, for the rare case that a disk came back under another name.
//
// Searched are the devices that the session could open by a name: the nodes below the search path,
// or in /dev where that is "/". Links to folders are not followed, links to nodes are, as in
// device_search.cc.
//
// The identity of a device is known once it is open, and an open may hang. So work items open the
// devices (device_look.hh), and the search waits with a limit: first for the devices that look
// right from outside, until 20 s after their open has begun. Only if none of them has the identity,
// and no multipath map is among them, it waits for the others, 2 s each and 20 s in all.
//
// A tree of more devices than kMaxDevices has no result: the device that is found might not be the
// only one. The paths of a multipath map have the map's identity, and are skipped when the map is
// there.
#include <rnbd/server/device_search.hh>

#include <cxxrt/block.hh>
#include <cxxrt/file.hh>
#include <cxxrt/log.hh>
#include <cxxrt/memory.hh>
#include <rnbd/pure/device_path.hh>
#include <rnbd/server/device_look.hh>
#include <rnbd/server/identity.hh>

namespace rnbd::server {

namespace {

using cxxrt::Array;
using cxxrt::TextWriter;

constexpr u32 kMaxDepth = 4;
constexpr u32 kMaxDevices = 16384;
constexpr usize kMaxNames = 1u << 20; // bytes, of one folder
constexpr unsigned int kOfTheRightMs = 20'000;
constexpr unsigned int kOfOthersMs = 2'000;
constexpr unsigned int kOfAllOthersMs = 20'000;

// Collects the devices. One at a time in the module, since it takes some memory.
class Walk {
public:
	Status start(TextView search, TextView session)
	{
		seen_ = TRY(Array<dev_t>::create(kMaxDevices));
		TextWriter out(path_, sizeof(path_));
		// The dot is a name that adds nothing; a search path that is a link is followed.
		TRY(write_device_path(out, search, session, "."));
		size_ = out.size();
		if (out.text() == TextView("/."))
			TRY(append("dev"));
		return look_into(0);
	}
	// Whether all were seen.
	bool complete() const { return complete_; }
	// ENOMEM.
	Result<Array<dev_t>> devices() const
	{
		Array<dev_t> devices = TRY(Array<dev_t>::create(devices_));
		for (u32 i = 0; i < devices_; i++)
			devices[i] = seen_[i];
		return devices;
	}

private:
	Status append(TextView name)
	{
		if (size_ + 1 + name.size() >= sizeof(path_))
			return err::enametoolong;
		path_[size_++] = '/';
		__builtin_memcpy(path_ + size_, name.data(), name.size());
		size_ += name.size();
		path_[size_] = '\0';
		return {};
	}

	// What path_ leads to. The names first: the folder is locked while it is listed. Where
	// anybody may make links and folders, nobody is told where a disk is.
	Status look_into(u32 depth)
	{
		if (!names_[depth].size())
			names_[depth] = TRY(Array<char>::create(kMaxNames));
		const Array<char> &names = names_[depth];
		const auto wanted = depth ? cxxrt::Folder::OnlyOfSome : cxxrt::Folder::Any;
		usize used = 0;
		TRY(cxxrt::list_folder(path_, wanted, [&](TextView name, unsigned int type) {
			if (type == DT_REG || type == DT_CHR)
				return;
			if (used + name.size() + 1 > names.size()) {
				complete_ = false;
				return;
			}
			__builtin_memcpy(names.begin() + used, name.data(), name.size());
			used += name.size() + 1;
		}));
		const usize folder = size_;
		for (usize at = 0; at < used;) {
			const TextView name = TextView::of(names.begin() + at);
			at += name.size() + 1;
			if (append(name).ok())
				look_at(depth);
			size_ = folder;
			path_[size_] = '\0';
		}
		return {};
	}

	void look_at(u32 depth)
	{
		const Result<dev_t> number = cxxrt::block_device_at(path_);
		if (number.ok()) {
			note(number.value());
		} else if (number.code() == -ENOTBLK && depth + 1 < kMaxDepth) {
			// What is no folder, is gone, or may be written to by anybody is passed
			// over.
			const int code = look_into(depth + 1).code();
			if (code && code != -ENOTDIR && code != -ENOENT && code != -EACCES)
				complete_ = false;
		}
	}

	void note(dev_t number)
	{
		for (u32 i = 0; i < devices_; i++)
			if (seen_[i] == number)
				return;
		if (devices_ == kMaxDevices) {
			complete_ = false;
			return;
		}
		seen_[devices_++] = number;
	}

	char path_[kPathSize];
	usize size_ = 0;
	Array<char> names_[kMaxDepth]; // of the folders on the way to path_
	Array<dev_t> seen_;
	u32 devices_ = 0;
	bool complete_ = true;
};

// Finds which of them it is.
class Comparison {
public:
	Comparison(const Wwid &wanted, DeviceLooks &looks, const Opener &opener)
	    : wanted_(wanted), looks_(looks), opener_(opener)
	{
	}

	// ENOENT if there is none, or it is not certain which; ENOMEM, ECONNABORTED.
	Result<dev_t> among(const Array<dev_t> &devices)
	{
		Array<Seen> seen = TRY(Array<Seen>::create(devices.size()));
		bool maps = false;
		for (usize i = 0; i < devices.size(); i++) {
			seen[i] = look_from_outside(devices[i], wanted_);
			maps |= seen[i].looks_right && seen[i].is_map;
		}
		TRY(open_that_look_right(devices, seen, maps));
		if (!matches_ && !maps)
			TRY(open_others(devices, seen));
		if (matches_ != 1)
			return err::enoent;
		return found_;
	}

private:
	Status open_that_look_right(const Array<dev_t> &devices, const Array<Seen> &seen, bool maps)
	{
		for (usize i = 0; i < devices.size(); i++)
			if (seen[i].looks_right && seen[i].is_map == maps)
				TRY(compare(devices[i], kOfTheRightMs));
		return {};
	}

	Status open_others(const Array<dev_t> &devices, const Array<Seen> &seen)
	{
		const unsigned long end = jiffies + msecs_to_jiffies(kOfAllOthersMs);
		for (usize i = 0; i < devices.size(); i++) {
			// What a map is, it shows from outside.
			if (seen[i].looks_right || seen[i].is_map)
				continue;
			if (time_after(jiffies, end)) {
				log_warning_limited(wanted_.c_str(),
						    "Not all devices were opened in time");
				return err::enoent;
			}
			TRY(compare(devices[i], kOfOthersMs));
		}
		return {};
	}

	Status compare(dev_t number, unsigned int patience_ms)
	{
		if (opener_.given_up())
			return err::econnaborted;
		const Result<Wwid> wwid = looks_.identify(number, patience_ms);
		if (wwid.ok() && wwid.value() == wanted_) {
			found_ = number;
			matches_++;
		}
		return {};
	}

	const Wwid &wanted_;
	DeviceLooks &looks_;
	const Opener &opener_;
	u32 matches_ = 0;
	dev_t found_ = 0;
};

} // namespace

// A place until it is destroyed.
class DeviceSearches::Place {
public:
	Place(DeviceSearches &searches, OfSession &places) : searches_(searches), places_(places) {}
	Place(const Place &) = delete;
	Place &operator=(const Place &) = delete;
	~Place() { searches_.leave(places_); }

private:
	DeviceSearches &searches_;
	OfSession &places_;
};

// EBUSY, ECONNABORTED.
Status DeviceSearches::take_place(OfSession &places, const Opener &opener)
{
	constexpr unsigned int kTimeoutMs = 5'000;
	if (!atomic_add_unless(&places.searches, 1, kOfSession))
		return err::ebusy;
	bool taken = false;
	auto over = [&] {
		return taken || (taken = atomic_add_unless(&searches_, 1, kOfAll)) ||
		       opener.given_up();
	};
	const Status waited = left_.wait_for(msecs_to_jiffies(kTimeoutMs), over);
	if (taken)
		return {};
	atomic_dec(&places.searches);
	return waited.ok() ? err::econnaborted : err::ebusy;
}

void DeviceSearches::leave(OfSession &places)
{
	atomic_dec(&places.searches);
	atomic_dec(&searches_);
	left_.wake_all();
}

Result<dev_t> DeviceSearches::find(const char *search_path, TextView session, OfSession &places,
				   const DeviceName &name, const Opener &opener)
{
	const Wwid wanted = TRY(parse_wwid_name(name.view()));
	TRY(take_place(places, opener));
	const Place place(*this, places);
	bool complete = false;
	const Array<dev_t> devices = TRY(folders_.with([&](Folders &) -> Result<Array<dev_t>> {
		cxxrt::Box<Walk> walk = TRY(cxxrt::make_box<Walk>(GFP_KERNEL));
		TRY(walk->start(TextView::of(search_path), session));
		complete = walk->complete();
		return walk->devices();
	}));
	if (!complete) {
		log_warning_limited(name.c_str(), "Beneath %s are more devices than are looked at",
				    search_path);
		return err::enoent;
	}
	return Comparison(wanted, looks_, opener).among(devices);
}

} // namespace rnbd::server
