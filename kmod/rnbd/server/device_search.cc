// SPDX-License-Identifier: GPL-2.0
// How far a name may lead. It consists of the client's text, which has no "..", and of symbolic
// links, which only administrators of this machine make. Where the search path is not "/", the
// folders that a name goes through must lie beneath it, as openat2() with RESOLVE_BENEATH would
// see it. The last component may be a link to anywhere: /dev/mapper and /dev/disk/by-id consist of
// such links, and to place one is the way to export its target. The two look-ups are not one
// atomic step; nobody but an administrator can come between them.
#include <rnbd/server/device_search.hh>

#include <cxxrt/block.hh>
#include <cxxrt/file.hh>
#include <cxxrt/memory.hh>
#include <rnbd/pure/device_path.hh>

// Every kernel exports it, the older ones declare it for themselves only.
extern "C" int vfs_path_lookup(dentry *dentry, vfsmount *mnt, const char *name, unsigned int flags,
			       path *path);

namespace rnbd::server {

namespace {

using cxxrt::TextWriter;

class PathRef {
public:
	explicit PathRef(const path &p) : path_(p) {}
	PathRef(const PathRef &) = delete;
	PathRef &operator=(const PathRef &) = delete;
	PathRef(PathRef &&o) : path_(cxxrt::exchange(o.path_, path{})) {}
	~PathRef()
	{
		if (path_.dentry)
			path_put(&path_);
	}
	const path &get() const { return path_; }

private:
	path path_;
};

Result<PathRef> find_folder(const char *name)
{
	path p;
	// raw: in the scope of find_device()
	TRY(Status::from_code(kern_path(name, LOOKUP_FOLLOW | LOOKUP_DIRECTORY, &p)));
	return PathRef(p);
}

// EXDEV if folder `name`, relative to `root`, is not beneath it.
Status check_beneath(const PathRef &root, const char *name)
{
	path p;
	constexpr unsigned kFlags = LOOKUP_FOLLOW | LOOKUP_DIRECTORY | LOOKUP_BENEATH;
	TRY(Status::from_code(
	    vfs_path_lookup(root.get().dentry, root.get().mnt, name, kFlags, &p)));
	path_put(&p);
	return {};
}

struct Texts {
	char full[kPathSize];
	char root[kPathSize];
};

// Checks the folders of `texts.full`, whose first bytes are those of `root`, behind which the
// client's name begins.
Status check_folders(Texts &texts, TextView root, TextView full)
{
	usize last = full.size();
	while (last > root.size() && full[last - 1] != '/')
		last--;
	if (last == root.size())
		return {};
	PathRef folder = TRY(find_folder(texts.root));
	// The slash ends the text for a moment.
	texts.full[last - 1] = '\0';
	Status s = check_beneath(folder, texts.full + root.size());
	texts.full[last - 1] = '/';
	return s;
}

} // namespace

Result<dev_t> find_device(const char *search_path, TextView session, const DeviceName &name)
{
	const cxxrt::ProgramPaths scope;
	cxxrt::Box<Texts> texts = TRY(cxxrt::make_box<Texts>(GFP_KERNEL));
	TextView search = TextView::of(search_path);
	TextWriter full(texts->full, sizeof(texts->full));
	TRY(write_device_path(full, search, session, name.view()));
	// The same path of a name that adds nothing shows where the client's text begins: at the
	// dot.
	TextWriter root(texts->root, sizeof(texts->root));
	TRY(write_device_path(root, search, session, "."));
	TextView folder = root.text().first(root.size() - 1);
	if (folder != TextView("/"))
		TRY(check_folders(*texts, folder, full.text()));

	return cxxrt::block_device_at(texts->full);
}

} // namespace rnbd::server
