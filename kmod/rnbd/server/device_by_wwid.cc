// SPDX-License-Identifier: GPL-2.0
// The device with an identity, among those that a session may open by a name: the nodes beneath the
// search path, or in /dev where that is "/". Folders are not followed by links, nodes are, as in
// device_search.cc. It is a search by hand, for the rare case that a disk came back under another
// name. Which one it is shows when it is open. A disk that hangs may hold up whoever opens it, so
// that is done by others (device_look.hh), and nobody waits long: for those that look right from
// outside, which come first, as long as its own user has to; for the others, which are opened only
// if none of these is it, a moment each, and not long for all of them together.
// Where there is more than is looked at, no device is found: the one that is seen need not be the
// only one.
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

class Search {
public:
	Search(const Wwid &wanted, DeviceLooks &looks) : wanted_(wanted), looks_(looks) {}

	Status start(TextView search, TextView session)
	{
		seen_ = TRY(Array<dev_t>::create(kMaxDevices));
		TextWriter out(path_, sizeof(path_));
		// The dot is a name that adds nothing; a search path that is a link is followed.
		TRY(write_device_path(out, search, session, "."));
		size_ = out.size();
		if (out.text() == TextView("/."))
			TRY(append("dev"));
		TRY(look_into(0));
		if (!complete_)
			return {};
		open_that_look_right();
		if (!matches_)
			open_others();
		return {};
	}
	// Whether all were looked at.
	bool complete() const { return complete_; }
	// ENOENT if there is none, or it is not certain which.
	Result<dev_t> found() const
	{
		if (!complete_ || matches_ != 1)
			return err::enoent;
		return found_;
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

	void open_that_look_right()
	{
		for (u32 i = 0; i < devices_; i++)
			if (identify_unopened(seen_[i]) == wanted_)
				compare(seen_[i], kOfTheRightMs);
	}
	void open_others()
	{
		const unsigned long end = jiffies + msecs_to_jiffies(kOfAllOthersMs);
		for (u32 i = 0; i < devices_; i++) {
			if (time_after(jiffies, end)) {
				complete_ = false;
				return;
			}
			if (!(identify_unopened(seen_[i]) == wanted_))
				compare(seen_[i], kOfOthersMs);
		}
	}

	void compare(dev_t number, unsigned int patience_ms)
	{
		const Result<Wwid> wwid = looks_.identify(number, patience_ms);
		if (!wwid.ok() || !(wwid.value() == wanted_))
			return;
		found_ = number;
		matches_++;
	}

	const Wwid &wanted_;
	DeviceLooks &looks_;
	char path_[kPathSize];
	usize size_ = 0;
	Array<char> names_[kMaxDepth]; // of the folders on the way to path_
	Array<dev_t> seen_;
	u32 devices_ = 0;
	u32 matches_ = 0;
	bool complete_ = true;
	dev_t found_ = 0;
};

} // namespace

Result<dev_t> find_device_by_wwid(const char *search_path, TextView session, const DeviceName &name,
				  DeviceLooks &looks)
{
	const Wwid wanted = TRY(parse_wwid_name(name.view()));
	cxxrt::Box<Search> search = TRY(cxxrt::make_box<Search>(GFP_KERNEL, wanted, looks));
	TRY(search->start(TextView::of(search_path), session));
	if (!search->complete())
		log_warning_limited(name.c_str(), "Beneath %s are more devices than are looked at",
				    search_path);
	return search->found();
}

} // namespace rnbd::server
